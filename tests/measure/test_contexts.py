"""What language models do with their contexts: first tokens and the drift of the logits."""

import pytest
import torch

from ablate.data import PAD
from ablate.measure import FirstToken, LogPartition
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve

WORDS = (
    "scale=language",
    "data=shakespeare",
    "model.n_layers=2",
    "model.d_model=16",
    "model.d_ff=16",
    "batch.context=16",
    "batch.tokens=32",
)
MEASURES = [FirstToken(contexts=3), LogPartition(contexts=3)]


@pytest.fixture
def trained(compose):
    def build(*words):
        job = resolve(compose(*WORDS, *words))
        data = prepare_data(job)
        job.task.begin(data.tokenizers)
        torch.manual_seed(0)
        model = make_model(job, data).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_()
        return model, data

    return build


@pytest.mark.parametrize("attention", ["fused", "sink"])
def test_attention_to_the_first_token_is_that_of_a_loop(trained, attention):
    model, data = trained(f"model/attention={attention}", "model/position=none")
    shares = []

    def record(kernel, inputs, output):
        q, k = inputs[:2]
        for query in range(8, 16):
            seen = q[:, :, query, None] @ k[:, :, : query + 1].transpose(-1, -2)
            if attention == "sink":
                sink = (q[:, :, query] * kernel.sink).sum(-1)[..., None, None]
                seen = torch.cat([seen, sink], -1)
            shares.append((seen / q.size(-1) ** 0.5).softmax(-1)[..., 0])

    handles = [kernel.register_forward_hook(record) for _, kernel in model.attentions()]
    with torch.no_grad():
        model(data.first_lines("test", 3).inputs)
    for handle in handles:
        handle.remove()
    expected = float(torch.stack(shares).mean())
    assert MEASURES[0](model, data) == {"first_token": pytest.approx(expected)}
    assert 0 < expected < 1


def test_the_drift_is_the_logarithm_of_the_summed_exponentials(trained):
    model, data = trained()
    batch = data.first_lines("test", 3)
    with torch.no_grad():
        logits = model.head(model(batch.inputs))
    drift = logits.exp().sum(-1).log().abs()[batch.targets != PAD].mean()
    assert MEASURES[1](model, data) == {"log_partition": pytest.approx(float(drift))}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    vocabulary = logits.size(-1)
    (value,) = MEASURES[1](model, data).values()
    assert value == pytest.approx(float(torch.tensor(float(vocabulary)).log()))

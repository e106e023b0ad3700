"""How a language model predicts text in contexts that are longer than those of its training."""

import pytest

from ablate.measure import LongerContexts
from ablate.model import Causal
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve

WORDS = (
    "scale=language",
    "data=shakespeare",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=16",
)


@pytest.fixture
def trained(compose):
    def build(*words):
        job = resolve(compose(*WORDS, "batch.context=16", "batch.tokens=32", *words))
        data = prepare_data(job)
        job.task.begin(data.tokenizers)
        return make_model(job, data).double().eval(), data

    return build


@pytest.mark.slow
@pytest.mark.parametrize("position", ["rotary", "learned"])
def test_means_are_those_of_the_text_read_at_once(trained, position):
    model, data = trained(f"model/position={position}")
    batch = data.first_lines("test", 6)
    tokens, targets = (x.reshape(2, 48) for x in (batch.inputs.tokens, batch.targets))
    scores = model.head(model(Causal(tokens))).log_softmax(-1)
    nll = -scores.gather(-1, targets[..., None]).squeeze(-1).detach()
    measured = LongerContexts(factor=3, contexts=2)(model, data)
    assert measured["within"] == pytest.approx(float(nll[:, :16].mean()))
    assert measured["beyond"] == pytest.approx(float(nll[:, 16:].mean()))

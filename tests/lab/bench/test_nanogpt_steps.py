"""From the same weights and batches, both sides of `lab.bench.nanogpt` do the same arithmetic."""

import pytest
import torch

from ablate.train.job import make_model, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run
from lab.bench import nanogpt_loop
from lab.bench.nanogpt_loop import Gpt, make_optimizer, rate, step

WARMUP = 10
CASES = [  # steps, and sizes
    (110, {"layers": 4, "heads": 4, "width": 16, "context": 8}),
    (30, {"layers": 2, "heads": 2, "width": 24, "context": 16}),
]


def to_hand(weights, sizes):
    """Return a GPT of the loop with weights of ours, each used once."""
    left = {name: weight.double() for name, weight in weights.items()}
    table = left.pop("embedding.tgt.weight")
    theirs = {
        "tokens.weight": table,
        "places.weight": left.pop("decoder.position.table"),
        "norm.weight": left.pop("decoder.residual.final_norm.gain"),
    }
    for i in range(sizes["layers"]):
        attention, feed_forward = (
            f"decoder.layers.{i}.{name}" for name in ("self_attention", "feed_forward")
        )
        maps = [left.pop(f"{attention}.{name}.weight") for name in ("query", "key", "value")]
        block = {
            "qkv": torch.cat(maps),
            "merge": left.pop(f"{attention}.output.weight"),
            "up": left.pop(f"{feed_forward}.inner.weight"),
            "down": left.pop(f"{feed_forward}.outer.weight"),
            "norm_1": left.pop(f"decoder.residual.norms.{2 * i}.gain"),
            "norm_2": left.pop(f"decoder.residual.norms.{2 * i + 1}.gain"),
        }
        theirs |= {f"blocks.{i}.{name}.weight": weight for name, weight in block.items()}
    assert not left
    net = Gpt(len(table), **sizes).double()
    net.load_state_dict(theirs)
    return net


@pytest.fixture
def job(compose, tmp_path, cache_folder):
    def made(steps, sizes):
        names = {"layers": "n_layers", "heads": "n_heads", "width": "d_model"}
        model = [f"model.{ours}={sizes[name]}" for name, ours in names.items()]
        context = sizes["context"]
        batch = [f"batch.context={context}", f"batch.tokens={3 * context}"]
        model.append(f"model.position.max_length={context}")
        return resolve(
            compose(
                *("scale=nanogpt", "logger=none", "trainer.precision=64-true"),
                *(*model, f"model.d_ff={4 * sizes['width']}", *batch),
                *(f"budget.steps={steps}", f"budget.validate_every={steps}"),
                *(
                    f"budget.warmup={WARMUP}",
                    "trainer.limit_val_batches=1",
                    "budget.test_sentences=1",
                ),
                *(f"paths.results={tmp_path}", f"paths.cache={cache_folder}"),
            )
        )

    return made


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "sizes"), CASES)
def test_both_sides_have_the_same_losses_and_weights_at_every_step(job, steps, sizes, monkeypatch):
    training = job(steps, sizes)
    start = make_model(training, prepare_data(training)).state_dict()
    real, batches, losses = Training.training_step, [], []

    def noting(self, batch, batch_idx):
        objective = real(self, batch, batch_idx)
        batches.append(torch.cat([batch.inputs.tokens, batch.targets[:, -1:]], 1))
        losses.append(objective.item())
        return objective

    monkeypatch.setattr(nanogpt_loop, "WARMUP", WARMUP)
    monkeypatch.setattr(Training, "training_step", noting)
    result = run(training)
    net = to_hand(start, sizes)
    optimizer = make_optimizer(net)
    by_hand = [
        step(net, optimizer, ids, rate(number, steps)).item()
        for number, ids in enumerate(batches, start=1)
    ]
    assert losses == pytest.approx(by_hand, rel=1e-6)
    assert losses[-1] < losses[0]
    trained = to_hand(torch.load(f"{result['folder']}/weights.pt"), sizes).state_dict()
    for name, weight in net.state_dict().items():
        torch.testing.assert_close(trained[name], weight, rtol=1e-4, atol=1e-6)

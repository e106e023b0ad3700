"""Models of tasks without a source: every parameter is trained."""

import pytest
import torch

from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve


@pytest.fixture
def prepared(small, compose):
    """Return a function that returns a job with these overrides, its data and its model."""

    def prepare(*overrides):
        words = [word for word in small if not word.startswith("search.")]
        job = resolve(compose(*words, *overrides))
        data = prepare_data(job)
        return job, data, make_model(job, data)

    return prepare


@pytest.mark.parametrize("embedding", ["separate", "tied_all"])
@pytest.mark.parametrize(
    ("model", "task"),
    [
        ("decoder_only", "language_model"),
        ("encoder_only", "masked_language_model"),
        ("decoder_only", "translation"),
    ],
)
def test_every_parameter_has_a_gradient(prepared, model, task, embedding):
    """Lightning's ddp ends a training in which a parameter has none."""
    job, data, module = prepared(f"model={model}", f"task={task}", f"model/embedding={embedding}")
    batch = data.first_lines("train", 4)
    counted = job.loss.counted(batch.targets)
    states = module(batch.inputs)[counted]
    objective, _ = module.head.score(job.loss, states, batch.targets[counted])
    torch.autograd.backward(objective)
    assert [name for name, p in module.named_parameters() if p.grad is None] == []
    table = "embedding.src.weight" in module.state_dict()
    assert table == (task == "translation" and embedding != "tied_all")

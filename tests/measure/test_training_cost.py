"""What a step of training costs: counts are exact, and more work costs more."""

import pytest

from ablate.measure.training_cost import TrainingCost
from ablate.train.prepare import make_model, prepare_data
from ablate.train.resolve import resolve


@pytest.fixture
def cost(small, compose):
    def measured(*words):
        job = resolve(compose(*small, *words))
        data = prepare_data(job)
        job.task.begin(data.tokenizers)
        return TrainingCost(sentences=8, repeats=2)(make_model(job, data).double().eval(), data)

    return measured


def test_counts_are_the_same_again_and_grow_with_the_model(cost):
    first, again = cost(), cost()
    for name in ("operations", "bytes"):
        assert first[name] == again[name] > 0
    assert first["microseconds"] > 0
    for words in (["model.n_layers=2"], ["model.d_ff=256"], ["model.d_model=32"]):
        larger = cost(*words)
        assert all(larger[name] > first[name] for name in ("operations", "bytes")), words

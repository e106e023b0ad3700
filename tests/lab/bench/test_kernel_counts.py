"""A training step on a GPU has about as many kernels as the hand-written loop, and never waits."""

import pytest

from ablate.data import PAD
from ablate.train.resolve import resolve
from lab.bench.kernel_counts import LIMITS, SIZES, count_ablate, count_by_hand, count_step

TRANSLATOR = (
    "batch.bucket=false",
    "budget.validate_every=4",
    "trainer.precision=bf16-mixed",
    "trainer.log_every_n_steps=50",
)


@pytest.fixture(scope="module")
def by_hand():
    return count_by_hand(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["", "optimizer=muon"])
def test_a_language_model_launches_few_kernels_and_never_waits(by_hand, case, tmp_path):
    counted = count_ablate(str(tmp_path), SIZES, *filter(None, [case])).operations
    assert by_hand.kernels > 200  # else the counter sees too little
    assert counted.kernels <= LIMITS[case] * by_hand.kernels
    assert not counted.waits


@pytest.mark.parametrize(
    "overrides", [(), ("model/padding=rows_and_columns", "model/attention=explicit")]
)
def test_a_translator_never_waits_for_padded_batches(small, compose, overrides):
    counted = count_step(resolve(compose(*small, *TRANSLATOR, *overrides)), number=1)
    assert (counted.batch.targets == PAD).any()
    assert not counted.operations.waits

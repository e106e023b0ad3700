"""Callbacks that swap weights: one set of weights is validated, tested, stored and evaluated."""

import json
from pathlib import Path

import pytest

from ablate.config.construct import construct
from ablate.record import files
from ablate.train.module import Training
from ablate.train.restore import restore, score

from .conftest import TINY

MEAN = (
    "+callbacks.mean._target_=pytorch_lightning.callbacks.EMAWeightAveraging",
    *("+callbacks.mean.decay=0.5", "optimizer.lr=0.01", "search=greedy"),
)
TESTED = {
    "best": ("checkpoint.tested=best",),
    "average": ("checkpoint.tested=average", "checkpoint.every=2", "checkpoint.average=3"),
}
cases = pytest.mark.parametrize("tested", ["best", pytest.param("average", marks=pytest.mark.slow)])
LIVES = (
    (Training, "training_step", 5, False),
    (Training, "optimizer_step", 3, True),
    (Training, "validation_step", 1, False),
    (files, "write_bytes", 4, True),
    (Training, "on_validation_epoch_end", 1, True),
    (Training, "fix_weights", 1, True),
    (Training, "test_step", 1, True),
    (Training, "on_test_epoch_end", 1, True),
)


@cases
def test_one_set_of_weights_is_validated_tested_and_stored(whole, compose, small, tested):
    words = (*MEAN, *TESTED[tested])
    result = whole(*words)
    config = compose(*small, *TINY, *words)
    metrics, restored = result["metrics"], restore(Path(result["folder"]), {}, [], "cpu")
    for split, loss in (("validation", "val/nll"), ("test", "test/nll")):
        scores = score(restored, construct(config.data), split, config.paths.cache)
        assert scores["nll"] == metrics[loss]
    lines = Path(result["folder"], "metrics.jsonl").read_text().splitlines()
    curve = [line["val/nll"] for line in map(json.loads, lines) if "val/nll" in line]
    if tested == "best":
        assert curve[-1] == min(curve)


@cases
@pytest.mark.slow
def test_a_run_with_averages_that_is_killed_ends_as_if_it_were_not(go, kill, left, whole, tested):
    words = (*MEAN, *TESTED[tested], "checkpoint.save_every=2")
    expected = left(whole(*words))
    for owner, function, nth, after in LIVES:
        kill("killed", owner, function, nth, *words, after=after)
    assert left(go("killed", *words)) == expected

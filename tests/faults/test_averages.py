"""Callbacks that swap weights: one set of weights is validated, tested, stored and evaluated."""

import copy
import json
import threading
from pathlib import Path

import pytest
import torch

from ablate.config.construct import construct
from ablate.record import files
from ablate.train.apply import score
from ablate.train.job import make_model, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.restore import restore

from .conftest import TINY

LIGHTNING = "pytorch_lightning.callbacks"
CALLBACKS = {
    "ema": (
        f"+callbacks.mean._target_={LIGHTNING}.EMAWeightAveraging",
        "+callbacks.mean.decay=0.5",
    ),
    "own": ("+callbacks.mean._target_=tests.faults.averages.Average", "trust=[tests]"),
}
AVERAGE = ("checkpoint.tested=average", "checkpoint.every=2", "checkpoint.average=3")
TESTED = {"last": (), "best": ("checkpoint.tested=best",), "average": AVERAGE}
FASTER = ("optimizer.lr=0.01", "search=greedy")
FEW = [("ema", "best"), ("own", "last")]
CASES = [*FEW, ("ema", "average")]
SLOW = pytest.mark.slow
cases = pytest.mark.parametrize(
    ("name", "tested"), [c if c in FEW else pytest.param(*c, marks=SLOW) for c in CASES]
)
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


def test_a_copy_of_a_module_has_weights_of_its_own_and_shares_the_data(compose, small):
    job = resolve(compose(*small))
    data = prepare_data(job)
    data.lock = threading.Lock()  # as that of a trainer of several processes, cannot be copied
    task = Training(job, make_model(job, data), data)
    twin = copy.deepcopy(task)
    assert twin.data is data
    assert not {id(p) for p in twin.parameters()} & {id(p) for p in task.parameters()}
    assert all(map(torch.equal, twin.parameters(), task.parameters()))


@cases
def test_one_set_of_weights_is_validated_tested_and_stored(whole, compose, small, name, tested):
    words = (*CALLBACKS[name], *TESTED[tested], *FASTER)
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
def test_a_run_with_averages_that_is_killed_ends_as_if_it_were_not(
    go, kill, left, whole, name, tested
):
    words = (*CALLBACKS[name], *TESTED[tested], *FASTER, "checkpoint.save_every=2")
    expected = left(whole(*words))
    for owner, function, nth, after in LIVES:
        kill("killed", owner, function, nth, *words, after=after)
    assert left(go("killed", *words)) == expected

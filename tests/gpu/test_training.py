"""Whole runs on the device: again, interrupted, and at the scale of a GPU."""

from pathlib import Path

import pytest
import torch

from ablate.train.resolve import resolve
from ablate.train.run import run


@pytest.fixture
def go(small, compose, trainer, tmp_path):
    """Run with extra overrides in a results folder of this name."""

    def went(results, *overrides):
        words = ("search=greedy", *trainer, *overrides, f"paths.results={tmp_path / results}")
        return run(resolve(compose(*small, *words)))

    return went


def weights(result):
    return torch.load(Path(result["folder"], "weights.pt"), weights_only=True, map_location="cpu")


def same(first, other):
    ours, theirs = weights(first), weights(other)
    equal = all(torch.equal(ours[name], theirs[name]) for name in ours)
    return equal and first["metrics"] == other["metrics"]


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_run_again_has_the_same_weights_bit_for_bit(go, precision):
    override = f"trainer.precision={precision}"
    assert same(go("first", override), go("second", override))


def test_two_seeds_in_one_process_are_those_of_processes_of_their_own(go):
    go("one", "seed=1")
    after, alone = go("one", "seed=2"), go("two", "seed=2")
    assert same(after, alone)
    assert not same(after, go("one", "seed=1"))


def test_the_scale_of_a_gpu_trains_and_is_tested(compose, small, trainer):
    kept = ("logger=", "data.", "budget.", "search.", "paths.")
    words = [word for word in small if word.startswith(kept)]
    result = run(resolve(compose("scale=gpu", *words, "data=toy", "batch.tokens=512", *trainer)))
    assert result["status"] in ("finished", "collapsed")
    assert result["metrics"]["test/nll"] > 0

"""Whole runs on the device: again, interrupted, at the scale of a GPU, and how fast."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ablate.train.job import prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run
from lab.bench.export import export_text

ROOT = Path(__file__).resolve().parents[2]
SECONDS, WARM_UP = 20, 5  # of each measurement of speed


class Killed(BaseException):
    """The process is gone."""


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


PRECISIONS = ["32-true", "bf16-mixed"]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_run_again_has_the_same_weights_bit_for_bit(go, precision):
    override = f"trainer.precision={precision}"
    assert same(go("first", override), go("second", override))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_run_that_was_killed_goes_on_to_the_same_weights(go, monkeypatch, precision):
    overrides = (f"trainer.precision={precision}", "checkpoint.save_every=1")
    real, steps = Training.training_step, []

    def dying(self, *args):
        steps.append(self.global_step)
        if len(steps) == 4:
            raise Killed
        return real(self, *args)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Training, "training_step", dying)
        go("killed", *overrides)
    assert same(go("killed", *overrides), go("whole", *overrides))


def test_two_seeds_in_one_process_are_those_of_processes_of_their_own(go):
    go("one", "seed=1")
    after, alone = go("one", "seed=2"), go("two", "seed=2")
    assert same(after, alone)
    assert not same(after, go("one", "seed=1"))


def test_the_scale_of_a_gpu_trains_and_is_tested(compose, small, trainer, tmp_path):
    kept = ("logger=", "data.", "budget.", "search.", "paths.")
    words = [word for word in small if word.startswith(kept)]
    result = run(resolve(compose("scale=gpu", *words, "data=toy", "batch.tokens=512", *trainer)))
    assert result["status"] in ("finished", "collapsed")
    assert result["metrics"]["test/nll"] > 0


# the loop is kept as it was measured, on processors: what it makes lies elsewhere by default
LOOP = """
import runpy, sys, torch
torch.set_default_device(sys.argv.pop(1))
runpy.run_path("lab/bench/baseline.py", run_name="__main__")
"""


def test_speed_beside_a_loop_by_hand(compose, small, trainer, device, tmp_path):
    """Prints target tokens per second of both, in float32, on the same text."""
    text = [word for word in small if word.startswith(("data.", "paths."))]
    words = ["scale=cpu", "model=tiny", "logger=none", "batch.tokens=4096", *text, *trainer]
    export_text(prepare_data(resolve(compose(*words))), tmp_path)
    ours = read_last_line(
        "-m", "lab.bench.ours", "train", SECONDS, "-", *words, f"--warm-up={WARM_UP}"
    )
    sizes = ("--data", tmp_path, "--seconds", SECONDS, "--warmup", WARM_UP)
    theirs = read_last_line("-c", LOOP, device, "train", *sizes)
    print(f"{device}: {ours['rate']:.0f} tokens/s, by hand {theirs['tgt_tok_s_mean']}")
    assert ours["rate"] > 0.5 * theirs["tgt_tok_s_mean"]


def read_last_line(*words):
    """What a process says in its last line."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])

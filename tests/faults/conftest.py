"""Runs that are killed at a chosen moment, and what they must leave in the end."""

import json
import re
from pathlib import Path

import pytest
import torch

VOLATILE = {"seconds", "wall_seconds", "ended", "reused", "trained", "folder", "evaluation"}
# Several epochs of three batches; validations inside of epochs and at their ends.
TINY = (
    *("data.n_train=60", "data.n_validation=5", "data.n_test=5", "batch.tokens=256"),
    *("budget.steps=12", "budget.validate_every=5", "trainer.log_every_n_steps=2"),
)


class Killed(BaseException):
    """The process is gone: nothing below catches it, and nothing is tidied up on its way."""


@pytest.fixture
def go(small, compose, tmp_path):
    """Run with extra overrides in a results folder of this name."""
    from ablate.train.run import run

    def went(results, *overrides):
        return run(compose(*small, *TINY, *overrides, f"paths.results={tmp_path / results}"))

    return went


@pytest.fixture
def kill(go, monkeypatch):
    """Run until the nth call of a function, and be killed before it or, with `after`, after it."""

    def killed(results, owner, name, nth, *overrides, after=False):
        real, calls = getattr(owner, name), 0

        def dying(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls == nth and not after:
                raise Killed
            found = real(*args, **kwargs)
            if calls == nth:
                raise Killed
            return found

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(owner, name, dying)
            go(results, *overrides)

    return killed


@pytest.fixture
def resumed_after(capfd):
    """The step that the last run said it went on from; None when it began at the beginning."""

    def read():
        said = re.findall(r"resumed after (\d+)", capfd.readouterr().out)
        return int(said[-1]) if said else None

    return read


@pytest.fixture
def left():
    """All that a run leaves and that must not depend on what has happened to it."""

    def read(found):
        folder, tests = Path(found["folder"]), Path(found["evaluation"])
        weights = torch.load(folder / "weights.pt", weights_only=True)
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return {
            "found": {k: v for k, v in found.items() if k not in VOLATILE},
            "metrics": [{k: v for k, v in line.items() if k != "time"} for line in lines],
            "weights": {name: value.numpy().tobytes() for name, value in weights.items()},
            "translations": [path.read_text() for path in tests.glob("test.hyp")],
            "statistics": (tests / "test.stats.npz").read_bytes(),
            "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*")),
        }

    return read

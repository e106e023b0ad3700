"""Runs that are killed at a chosen moment, and what they must leave in the end."""

import functools
import json
import re
import shutil
from pathlib import Path

import pytest
import torch

# when, where and for how long: what two equal runs do not say alike
VOLATILE = (
    *("seconds", "wall_seconds", "ended"),
    *("reused", "trained", "folder", "evaluation"),
)
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
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    def went(results, *overrides):
        folder = f"paths.results={tmp_path / results}"
        return run(resolve(compose(*small, *TINY, *overrides, folder)))

    return went


@pytest.fixture(scope="session")
def whole(small_in, compose, tmp_path_factory):
    """What a run says that nothing disturbs, once for the same overrides; tests take copies."""
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    @functools.cache
    def went(*overrides):
        return run(resolve(compose(*small_in(tmp_path_factory.mktemp("whole")), *TINY, *overrides)))

    return went


@pytest.fixture
def copied(whole, tmp_path):
    """Copy the results of such a run under another name; return what it says, with its folders."""

    def copy(name, *overrides):
        result = whole(*overrides)
        results = Path(result["folder"]).parents[1]
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.copytree(results, tmp_path / name)
        moved = {
            key: str(tmp_path / name / Path(result[key]).relative_to(results))
            for key in ("folder", "evaluation")
        }
        return {**result, **moved}

    return copy


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
            output = real(*args, **kwargs)
            if calls == nth:
                raise Killed
            return output

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(owner, name, dying)
            go(results, *overrides)

    return killed


@pytest.fixture
def half(kill, tmp_path):
    """The folder of a run that was killed after its first state had been saved."""
    from ablate.train.module import Training

    kill("half", Training, "training_step", 8)
    (folder,) = (tmp_path / "half" / "runs").iterdir()
    return folder


@pytest.fixture
def resumed_after(capfd):
    """The step that the last run said it went on from; None when it began at the beginning."""

    def read():
        steps = re.findall(r"resumed after (\d+)", capfd.readouterr().out)
        return int(steps[-1]) if steps else None

    return read


@pytest.fixture
def left():
    """All that a run leaves and that must not depend on what has happened to it."""

    def read(result):
        folder, tests = Path(result["folder"]), Path(result["evaluation"])
        weights = torch.load(folder / "weights.pt", weights_only=True)
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return {
            "found": {k: v for k, v in result.items() if k not in VOLATILE},
            "metrics": [{k: v for k, v in line.items() if k != "time"} for line in lines],
            "weights": {name: value.numpy().tobytes() for name, value in weights.items()},
            "translations": [path.read_text() for path in tests.glob("test.hyp")],
            "statistics": (tests / "test.stats.npz").read_bytes(),
            "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*")),
        }

    return read


def flip(place):
    def flipped(content):
        changed = bytearray(content)
        changed[place(len(content))] ^= 1
        return bytes(changed)

    return flipped


DAMAGES = {
    "half": lambda content: content[: len(content) // 2],
    "first bit": flip(lambda size: 0),
    "bit in the middle": flip(lambda size: size // 2),
    "last bit": flip(lambda size: size - 1),
}


def says_the_same(path, content):
    """Whether a change of JSON is none, such as one of the last digit of a number."""
    try:
        return path.suffix == ".json" and json.loads(content) == json.loads(path.read_bytes())
    except ValueError:
        return False


def damage(path, how):
    """Change a file; False when that says the same as before."""
    content = DAMAGES[how](path.read_bytes())
    if says_the_same(path, content):
        return False
    path.write_bytes(content)
    return True

"""Files of a sweep and of the cache that were changed: each is named, and healed or refused.

`pytest -m slow -n 0 -rP tests/faults/test_damaged_sweeps.py` prints what becomes of each.
"""

import json
import shutil

import pytest

from ablate.record.files import seal, write_json

from .conftest import STUDY, TINY, damage, records

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def swept(command, here, small, tmp_path, monkeypatch):
    """Run the sweep in a results folder of this name; return its status, and all that it said."""
    monkeypatch.chdir(tmp_path)

    def ran(results, *words):
        paths = f"paths.results={tmp_path / results}"
        status, out, err = command(*small, *TINY, *STUDY, paths, *words, "-m")
        return status, out + err

    return ran


@pytest.fixture
def whole(swept, tmp_path):
    """The folder of a results folder in which a sweep has ended."""
    status, output = swept("whole")
    assert status == 0, output
    return tmp_path / "whole"


@pytest.fixture
def cases(whole, tmp_path):
    """A copy of that folder for damages to one of its files: how, the copy, the file."""

    def made(pattern):
        for how in ("empty", "half", "bit in the middle"):
            shutil.rmtree(tmp_path / "case", ignore_errors=True)
            case = shutil.copytree(whole, tmp_path / "case")
            path = sorted(case.glob(pattern))[0]
            if damage(path, how):
                yield how, case, path

    return made


@pytest.mark.parametrize("name", ["study.json", "runs.jsonl"])
def test_evidence_that_is_judged_again(cases, whole, command, name):
    sound = answers(sweep_of(whole))
    for how, _, path in cases(f"sweeps/*/*/{name}"):
        status, _, error = command("judge", path.parent)
        # a rule makes it exploratory, a word for readers or the end of a line decides nothing
        if status == 0:
            concluded = answers(path.parent)
            flagged = all(exploratory for *_, exploratory in concluded)
            assert flagged or concluded == sound, how
            continue
        assert (status, error.count("\n")) == (2, 1) and str(path) in error, how


def answers(sweep):
    """What was concluded, and whether it is exploratory."""
    claims = json.loads((sweep / "verdict.json").read_text())["claims"]
    return [
        (claim["verdict"], claim["effect"], claim["interval"], claim["exploratory"])
        for claim in claims
    ]


def test_a_sweep_that_is_gone_on_with(cases, swept, whole):
    for name in ("cells/0000.json", "sweep.json"):
        for how, case, path in cases(f"sweeps/*/*/{name}"):
            if name != "sweep.json":
                interrupt(path.parents[1])
            status, output = swept("case", f"hydra.sweep.dir={sweep_of(case)}")
            assert str(path) in output, (name, how)
            if status == 2:
                assert output.splitlines()[-1].startswith("ablate: ")
                continue
            assert status == 0, output
            assert records(case) == records(whole)


def sweep_of(results):
    (sweep,) = results.glob("sweeps/*/*")
    return sweep


def interrupt(sweep):
    """Let a sweep have been killed before its end."""
    state = json.loads((sweep / "sweep.json").read_text())
    del state["seal"]
    write_json(sweep / "sweep.json", seal({**state, "failed": None}))

"""`ablate plan` on a whole sweep."""

import json
import re

import pytest

from ablate.plan.plan import _read
from ablate.record.files import seal, write_json
from ablate.sweep.cell import write_failure

ONE = ("+experiment=relu_vs_linear", "budget.short=null")
SWEEP = (*ONE, "seed=0,1")


ROW = re.compile(r"^\w.*? +(\d+) +(\d+) +([\d.]+|-)$", re.MULTILINE)  # of the table of arms


@pytest.fixture
def planned(command, small):
    """Return for each arm of a plan: the numbers of runs and of finished runs, and the seconds."""

    def called(*words):
        status, out, error = command("plan", *small, *words)
        assert status == 0, error
        return ROW.findall(out)

    return called


def test_a_plan_checks_everything_and_starts_nothing(small, command, tmp_path):
    status, out, err = command("plan", *small, *SWEEP)
    assert (status, err) == (0, "")
    (first,) = (line for line in out.splitlines() if line.startswith("relu_vs_linear:"))
    runs, arms, seeds, done = map(int, re.findall(r"\d+", first))
    assert (runs, arms, seeds, done) == (4, 2, 2, 0)
    assert "time: unknown for 2 arms" in out
    assert not [*(tmp_path / "results").iterdir()]


def test_the_time_is_that_of_an_earlier_sweep_in_this_setting(planned, small, command, here):
    assert command(*small, *ONE, "seed=0", "-m")[0] == 0
    arms = planned(*ONE, "seed=range(3)")
    assert (
        all((r, done, float(s) > 0) == ("3", "1", True) for r, done, s in arms) and len(arms) == 2
    )
    other = planned(*ONE, "seed=range(3)", "budget.steps=5")
    assert [seconds for *_, seconds in other] == ["-", "-"]


def test_every_arm_is_timed_once_by_a_short_run_of_its_own(small, command, monkeypatch):
    asked = []

    def failing(context, cell):
        asked.append(cell.config)
        return lambda: write_failure(cell, "no memory")

    monkeypatch.setattr("ablate.plan.plan.RunTask", failing)
    monkeypatch.setattr("ablate.plan.plan.start_fork_server", lambda modules: None)
    status, out, err = command("plan", *small, *SWEEP, "sample=true", "n_jobs=1", "-m")
    assert status == 2
    assert "no memory" in err
    assert 1 <= len(asked) <= 2
    for config in asked:
        assert (config.budget.steps, config.logger, config.fresh) == (30, None, True)


@pytest.fixture
def recorded(tmp_path):
    """The folder of a short run: a slow first step, 2 s a step, 7 s for the validation, 3 s to
    test, and 10 s for the rest.
    """
    times = [(5, 15.0), *((step, 15.0 + 2 * (step - 5)) for step in range(10, 31, 5))]
    lines = [{"step": step, "time": time, "train/nll": 1.0} for step, time in times]
    lines.append({"step": 30, "time": times[-1][1] + 7, "val/nll": 1.0})
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_json(tmp_path / "result.json", seal({"wall_seconds": 77.0}))
    write_json(tmp_path / "tests" / "a" / "result.json", seal({"wall_seconds": 3.0}))
    return tmp_path


def test_the_time_of_a_run_is_that_of_its_steps_validations_and_tests(recorded, compose, small):
    config = compose(*small, "budget.steps=100", "budget.validate_every=40")
    assert _read(recorded).seconds(config) == 10 + 100 * 2 + 3 * 7 + 3


def test_a_probe_takes_as_long_as_it_took(recorded, compose, small):
    (recorded / "metrics.jsonl").unlink()
    assert _read(recorded).seconds(compose(*small, "probe=parameter_count")) == 80.0

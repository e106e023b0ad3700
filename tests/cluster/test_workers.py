"""Commands on one results folder that are killed, are told to end, or share runs."""

import json
import os
import signal

import pytest

from .conftest import done, ended, kill, records, results_of, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def outcomes(results):
    return [json.loads(path.read_text()) for path in results.glob("sweeps/*/*/cells/*.json")]


def trains(results):
    """Whether a run has begun to train."""
    return any(results.glob("runs/*/metrics.jsonl"))


def test_two_workers_who_are_both_killed_and_then_one_are_as_a_quiet_one(quiet, start, tmp_path):
    results = tmp_path / "killed"
    workers = [start("killed") for _ in range(2)]
    wait_until(lambda: trains(results), workers[0])
    for worker in workers:
        kill(worker)
    one, other = (start("killed") for _ in range(2))
    wait_until(lambda: done(results) >= 3, one)
    kill(one)
    ended(other)
    assert results_of(results) == quiet


def test_a_sweep_that_is_told_to_end_goes_on_where_it_was(quiet, start, tmp_path):
    results = tmp_path / "told"
    for number, cells in ((signal.SIGINT, 0), (signal.SIGTERM, 3)):
        worker = start("told")
        wait_until(lambda least=cells: trains(results) and done(results) >= least, worker)
        os.killpg(worker.pid, number)  # as a terminal and a scheduler do: to all of its processes
        output, _ = worker.communicate()
        assert worker.returncode == 128 + number, output
        assert "Traceback" not in output
        # an interruption is no failure
        assert all(outcome["status"] != "failed" for outcome in outcomes(results))
    ended(start("told"))
    assert results_of(results) == quiet


def test_two_sweeps_that_share_runs_train_each_once(quiet, start, tmp_path):
    both = [start("shared"), start("shared", "name=other", "seed=0")]
    for worker in both:
        ended(worker)
    assert records(tmp_path / "shared") == quiet[0]
    links = outcomes(tmp_path / "shared")
    assert len(links) == 12
    assert sum(link["trained"] and not link["reused"] for link in links) == 8

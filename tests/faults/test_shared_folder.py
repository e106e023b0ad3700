"""Sweeps on one results folder: told to end, sharing runs, begun in one second."""

import json
import os
import signal
import time

import pytest

from .conftest import STUDY, TINY, records, verdicts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def sweep(start, small, tmp_path):
    """Start the study in a results folder of this name."""

    def started(results, *overrides):
        paths = f"paths.results={tmp_path / results}"
        return start(*small, *TINY, *STUDY, paths, *overrides, "-m")

    # a job in the background of a shell ignores SIGINT, and so would all processes that it starts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield started
    signal.signal(signal.SIGINT, before)


def ended(process):
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return output


def outcome(results):
    return records(results), [verdicts(path) for path in sorted(results.glob("sweeps/*/*"))]


def test_a_sweep_that_is_told_to_end_goes_on_where_it_was(sweep, tmp_path):
    ended(sweep("quiet"))
    for number in (signal.SIGINT, signal.SIGTERM):
        told, process = tmp_path / number.name, sweep(number.name)
        while process.poll() is None and not [*told.glob("runs/*/metrics.jsonl")]:
            time.sleep(0.01)
        os.killpg(process.pid, number)  # as a terminal and a scheduler do: to all of its processes
        output, _ = process.communicate()
        assert process.returncode == 128 + number, output
        assert "Traceback" not in output
        links = [json.loads(path.read_text()) for path in told.glob("sweeps/*/*/cells/*.json")]
        assert all(link["status"] != "failed" for link in links)  # an interruption is no failure
        ended(sweep(number.name))
        assert outcome(told) == outcome(tmp_path / "quiet")


def test_two_sweeps_that_share_runs_train_each_once(sweep, tmp_path):
    both = [sweep("shared"), sweep("shared", "name=other", "seed=range(3)")]
    outputs = [ended(process) for process in both]
    assert len(records(tmp_path / "shared")) == 12  # four arms and three seeds
    links = [json.loads(p.read_text()) for p in tmp_path.glob("shared/sweeps/*/*/cells/*.json")]
    assert len(links) == 20
    assert sum(link["trained"] and not link["reused"] for link in links) == 12, outputs

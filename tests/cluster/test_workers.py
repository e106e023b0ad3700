"""Five plain workers on one folder, three of them killed."""

import os
import re
import signal

import pytest

from .conftest import done, left, wait_until

ENDED = re.compile(r"^\d+/12 (.*): \w+, \d+ s$", re.MULTILINE)  # by the worker that says so


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_sweep_of_five_workers_of_whom_three_are_killed_is_as_a_quiet_one(quiet, start, tmp_path):
    shared = tmp_path / "shared"
    workers = [start("shared") for _ in range(5)]
    for number, worker in enumerate(workers[:3], start=1):
        wait_until(lambda at=2 * number: done(shared) >= at, worker)
        os.killpg(worker.pid, signal.SIGKILL)
    outputs = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [-9, -9, -9, 0, 0], outputs
    assert left(shared) == quiet
    labels = [label for output in outputs for label in ENDED.findall(output)]
    assert len(labels) == len(set(labels)) <= 12
    assert sum("Another worker has ended this sweep" in output for output in outputs) == 1

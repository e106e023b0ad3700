"""The command line under real signals."""

import signal
import time

import pytest

from .conftest import TINY


@pytest.fixture
def train(start, small, tmp_path):
    """Start a run in a results folder of this name."""

    def started(results, *overrides):
        return start(*small, *TINY, *overrides, f"paths.results={tmp_path / results}")

    return started


def wait_for_steps(process, folder, count):
    while process.poll() is None:
        lines = sum(len(p.read_text().splitlines()) for p in folder.glob("runs/*/metrics.jsonl"))
        if lines >= count:
            return
        time.sleep(0.01)
    raise AssertionError("the run has ended before")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
def test_a_process_that_is_ended_is_gone_on_with(
    train, go, left, tmp_path, resumed_after, number, status
):
    words = ("budget.steps=80", "budget.validate_every=20", "trainer.log_every_n_steps=1")
    process = train("ended", *words)
    wait_for_steps(process, tmp_path / "ended", 25)
    process.send_signal(number)
    assert process.wait() == status
    process.communicate()
    result = go("ended", *words)
    assert resumed_after() >= 20
    assert left(result) == left(go("whole", *words))

"""Two processes never make the same run at once."""

import signal
import subprocess
import sys

import pytest

HOLD = """
import sys, time
from pathlib import Path
from ablate.record.files import acquire
with acquire(Path(sys.argv[1]), "testing"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(go, tmp_path):
    """A process that holds the lock of the run in the folder "shared"."""
    result = go("elsewhere")
    path = tmp_path / "shared" / "locks" / f"{result['training']}.lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process, path
    process.kill()
    process.communicate()


def test_a_run_waits_for_the_lock_and_a_killed_process_leaves_none(go, holder, monkeypatch):
    process, path = holder
    printed = []

    def kill_once_somebody_waits(text, **kwargs):
        printed.append(text)
        process.send_signal(signal.SIGKILL)

    monkeypatch.setattr("ablate.record.files.print", kill_once_somebody_waits, raising=False)
    result = go("shared")
    assert [str(path) in text for text in printed] == [True]
    assert result["trained"]

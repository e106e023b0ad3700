"""The process keeps its memory, and what the user's environment says stays."""

import os
import subprocess
import sys

import pytest

from ablate.train.job import prepare_data
from ablate.train.resolve import resolve
from ablate.train.run import run

NAME = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
GAPS = """
from ablate.process import keep_memory
def resident_mib():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
blocks = [bytearray(100_000) for _ in range(2000)]
del blocks[::2], blocks[::3]  # a third of the blocks is left, between gaps
before = resident_mib()
keep_memory()
print(before - resident_mib())
"""


def run_script(script, *arguments, **variables):
    environment = {key: value for key, value in os.environ.items() if key != NAME} | variables
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_memory_that_was_free_before_is_returned_to_the_system():
    assert run_script(GAPS) > 100


def test_a_run_keeps_its_memory_between_reading_the_data_and_making_the_model(
    small, compose, monkeypatch
):
    class KeptError(Exception):
        pass

    def kept():
        raise KeptError

    prepared = []
    monkeypatch.setattr("ablate.train.run.keep_memory", kept)
    monkeypatch.setattr(
        "ablate.train.run.prepare_data", lambda job: prepared.append(job) or prepare_data(job)
    )
    monkeypatch.setattr("ablate.train.run.make_model", lambda *_: pytest.fail("the model is made"))
    with pytest.raises(KeptError):
        run(resolve(compose(*small)))
    assert prepared

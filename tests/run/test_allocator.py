"""The process keeps its memory, and what the user's environment says stays."""

import os
import subprocess
import sys

import pytest

from ablate.train.resolve import resolve
from ablate.train.run import run

NAME = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
PROGRAMS = f"""
import os
from ablate.process import keep_memory
keep_memory()
print(os.environ[{NAME!r}])
"""
FAULTS = """
import resource, sys, torch
from ablate.process import keep_memory
if sys.argv[1:]:
    keep_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(30):
    torch.ones(4_000_000)  # 3,906 pages
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 3906)
"""


def run_script(script, *arguments, **variables):
    environment = {key: value for key, value in os.environ.items() if key != NAME} | variables
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_few_programs_are_kept_unless_the_user_says_otherwise():
    assert run_script(PROGRAMS) < 1024
    assert run_script(PROGRAMS, **{NAME: "500"}) == 500


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_most_tensors_take_the_pages_of_those_before():
    assert run_script(FAULTS, MALLOC_MMAP_THRESHOLD_="131072") >= 29  # the default, but fixed
    assert run_script(FAULTS, "keep", MALLOC_MMAP_THRESHOLD_="131072") < 15


def test_a_run_keeps_its_memory_before_it_does_anything_large(small, compose, monkeypatch):
    class KeptError(Exception):
        pass

    def kept():
        raise KeptError

    monkeypatch.setattr("ablate.train.run.keep_memory", kept)
    monkeypatch.setattr(
        "ablate.train.run.prepare_data", lambda config: pytest.fail("data came first")
    )
    with pytest.raises(KeptError):
        run(resolve(compose(*small)))

"""The process keeps its memory, and what the user's environment says stays."""

import os
import subprocess
import sys

NAME = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
SCRIPT = f"""
import os
from ablate.allocator import keep_memory
keep_memory()
print(os.environ[{NAME!r}])
"""


def said(**variables):
    environment = {key: value for key, value in os.environ.items() if key != NAME} | variables
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_few_programs_are_kept_unless_the_user_says_otherwise():
    assert int(said()) < 1024
    assert said(**{NAME: "500"}) == "500"

"""The project that docs/template shows: copied, tested by its own tests, run to a verdict."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "template"


def typed(folder):
    """The commands of its page."""
    block = re.search(r"^```sh\n(.*?)^```", (folder / "README.md").read_text(), re.M | re.S)[1]
    return [shlex.split(line) for line in block.splitlines()]


@pytest.mark.slow
def test_its_commands_run_as_they_are_typed(tmp_path, small):
    """But for the installation, and as small as runs can be."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    template = shutil.copytree(TEMPLATE, tmp_path / "template", ignore=ignored)
    install, *commands = typed(template)
    assert install[:2] == ["pip", "install"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{template}",
        "OMP_NUM_THREADS": "1",
    }
    for words in commands:
        smaller = small if "ablate" in words else []
        done = subprocess.run(
            [*words, *smaller], cwd=template, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)

"""The project that docs/template shows: copied, tested by its own tests, run to a verdict."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.config import catalogue_folders

from ..experiments import forget_catalogue

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "template"


@pytest.fixture
def template(tmp_path, monkeypatch):
    """A copy of the project, as the folder in which somebody works."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    folder = shutil.copytree(TEMPLATE, tmp_path / "template", ignore=ignored)
    monkeypatch.chdir(folder)
    forget_catalogue()
    yield folder
    monkeypatch.undo()  # back to the folder in which the catalogue of this repository is found
    forget_catalogue()
    catalogue_folders()
    for name in [name for name in sys.modules if name.startswith("scaled_positions")]:
        del sys.modules[name]


def typed(folder):
    """The commands of its page."""
    block = re.search(r"^```sh\n(.*?)^```", (folder / "README.md").read_text(), re.M | re.S)[1]
    return [shlex.split(line.removeprefix("python -m ")) for line in block.splitlines()]


@pytest.mark.slow
def test_its_commands_run_as_they_are_typed(template, small, command, here):
    """But for the installation, and as small as runs can be, in this process."""
    install, tests, *commands = typed(template)
    assert (install[:2], tests) == (["pip", "install"], ["pytest"])
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{template}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *tests], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    for ablate, *words in commands:
        status, _, error = command(*words, *small)
        assert (ablate, status) == ("ablate", 0), (words, error)

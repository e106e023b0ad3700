"""The project that docs/template shows: copied, tested by its own tests, run to a verdict."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ablate.config.location import catalogue_folders

from ..experiments import forget_catalogue

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "template"
NAME = "scaled_positions"


@pytest.fixture
def template(tmp_path, monkeypatch):
    """A copy of it, as the folder in which somebody works."""
    folder = tmp_path / "template"
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    forget_catalogue()
    yield folder
    monkeypatch.undo()  # back to the folder in which the catalogue of this repository is found
    forget_catalogue()
    catalogue_folders()
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def typed(folder):
    """The commands of its page."""
    block = re.search(r"^```sh\n(.*?)^```", (folder / "README.md").read_text(), re.M | re.S)[1]
    return [shlex.split(line) for line in block.splitlines()]


def test_its_level_keeps_the_laws(template):
    from ablate.testing import checks

    laws = checks("experiments/conf")
    assert {str(check.level) for check in laws} == {"model/position=scaled"}
    assert len(laws) == 11
    for check in laws:
        check()


def test_its_level_goes_through_the_regime_of_language_models(template, command):
    """It is one that ablate lacks."""
    assert "scaled" not in {path.stem for path in (ROOT / "conf").glob("model/position/*.yaml")}
    (template / "play.txt").write_text("the cat and\n\na dog or the\n\n" * 60)
    status, printed, error = command(
        *("scale=language", "model/position=scaled", "logger=none"),
        *("data=text", "data.files=[play.txt]", "data.documents=paragraph"),
        *("model.n_layers=1", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"),
        *("batch.context=8", "batch.tokens=64", "batch.eval_tokens=64"),
        *("budget.steps=6", "budget.warmup=2", "budget.validate_every=6"),
        *("paths.results=results", "paths.cache=cache"),
    )
    assert status == 0, error
    assert "test/bpb" in printed and "sample 3" in printed
    (result,) = (template / "results").glob("runs/*/result.json")
    assert json.loads(result.read_text())["metrics"]["val/bpb"] > 0


def test_every_file_is_on_its_page_and_it_names_what_is_there(template):
    page = (template / "README.md").read_text()
    named = {name for name in re.findall(r"^\| `([^`]+)`", page, re.M)}
    there = {
        path.relative_to(template).as_posix()
        for path in template.rglob("*.*")
        if path.suffix in (".py", ".yaml", ".csv") and path.name != "__init__.py"
    }
    assert named == there
    project = tomllib.loads((template / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [NAME]
    assert project["project"]["dependencies"] == ["ablate"]


@pytest.mark.slow
def test_its_commands_run_as_they_are_typed(template, small):
    """But for the installation, and as small as runs can be."""
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
            [*words, *smaller], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)

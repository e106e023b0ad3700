"""The worked examples of docs/howto/extend.md, written as a user would, and trained."""

import re
import sys
from pathlib import Path

import pytest

from ablate.testing import checks

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "extend.md"
BLOCK = re.compile(r"^```(?:python|yaml)\n((?:# @[^\n]*\n)?# (\S+)\n.*?)^```", re.M | re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with all files of the page, in which the command is typed."""
    for text, name in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.syspath_prepend(str(tmp_path / "work"))
    yield tmp_path / "work"
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


def test_every_example_trains(folder, command, small):
    options = sorted(path.relative_to(folder / "mine/conf") for path in folder.rglob("*.yaml"))
    words = [f"{path.parent.as_posix()}=mine" for path in options]
    assert len(words) == 6
    status, out, error = command("--config-dir", "mine/conf", *small, *words)
    assert status == 0, error
    assert "test/mine" in out
    (log,) = (folder.parent / "results/runs").glob("*/metrics.jsonl")
    assert "mine/weight_norm" in log.read_text()


@pytest.mark.parametrize("option", ["model/position=mine", "optimizer=mine"])
def test_examples_that_are_said_to_keep_the_laws_do(folder, option):
    laws = [law for law in checks(folder / "mine/conf") if str(law.option) == option]
    assert len(laws) >= 5
    for law in laws:
        law()

"""`ablate` and `python -m ablate` find the same packages in the current folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# -c adds the current folder, which the script of the console lacks
CONSOLE = """import sys
if not sys.flags.safe_path:
    del sys.path[0]
from ablate.__main__ import main
main()"""
WAYS = {"console": ["-c", CONSOLE], "module": ["-m", "ablate"]}
TRUST = ["translate", "checkpoint=run", "trust=[mine_of_test]"]


@pytest.fixture
def ran(tmp_path):
    """Start Python in a folder that has a package, and a module named like an installed one."""
    (tmp_path / "mine_of_test.py").write_text("from ablate.optimizer import Constant\n")
    (tmp_path / "rich.py").write_text("raise SystemExit('the rich of the folder')\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def go(way, *words, **more):
        command = [sys.executable, *WAYS[way], *words]
        done = subprocess.run(
            command, cwd=tmp_path, env={**env, **more}, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    return go


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "words", "safe"), [("console", ["n_jobs=1", "-m"], ""), ("module", ["plan"], "1")]
)
def test_a_class_of_the_folder_is_built_unless_python_has_a_safe_path(ran, way, words, safe):
    mine = ["schedule._target_=mine_of_test.Missing", "scale=cpu", "logger=none"]
    status, _, error = ran(way, *words, *mine, PYTHONSAFEPATH=safe)
    assert status == 2, error
    assert ("No module named 'mine_of_test'" in error) == bool(safe), error
    assert "mine_of_test.Missing" in error  # without a safe path, the module was read


def test_what_is_installed_comes_before_the_folder(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    paths = []
    monkeypatch.setattr("ablate.cli.train.train", lambda: paths.append([*sys.path]))
    command("schedule=constant")
    assert paths[0][-1] == str(tmp_path) and paths[0].count(str(tmp_path)) == 1


@pytest.mark.parametrize("words", [["judge", "."], ["ledger", "--help"], ["translate", "batch=1"]])
def test_other_commands_do_not_search_the_folder(tmp_path, monkeypatch, command, words):
    monkeypatch.chdir(tmp_path)
    for before in ([str(tmp_path), *sys.path], ["", *sys.path], [*sys.path]):
        monkeypatch.setattr("sys.path", before)
        command(*words)
        assert str(tmp_path) not in sys.path and "" not in sys.path


def test_trust_searches_the_folder(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    status, _, error = command(*TRUST)
    assert status == 2 and sys.path[-1] == str(tmp_path), error

"""Standard streams of another encoding, or whose reader has left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from ablate.cli.main import main
from ablate.errors import make_console

ROOT = Path(__file__).resolve().parents[2]


def test_no_character_ends_a_program():
    command = [sys.executable, "-m", "ablate", "unknown 例 🙂"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=env, capture_output=True)
    assert done.returncode == 2 and rb"\u4f8b \U0001f642" in done.stderr


@pytest.mark.parametrize("words", [["options"], ["judge", "experiments/preln_vs_postln"]])
def test_a_reader_that_leaves_ends_a_command_quietly(words, monkeypatch, capfd):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["ablate", *words])
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8", buffering=1) as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        main()  # and does not leave with a status
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", ["a[/b]", "[link=file:///x]y[/link]"])
def test_a_console_prints_text_as_it_is(text, capsys):
    console = make_console()
    table = Table(title=text, title_justify="left", show_header=False)
    table.add_row(text)
    console.print(text, style="bold", soft_wrap=True)
    console.print("\n", Text("word", "red"), f"  {text}", sep="", soft_wrap=True)
    console.print(table)
    assert capsys.readouterr().out.count(text) == 4

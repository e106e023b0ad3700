"""Standard streams of every kind: another encoding, closed, full."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from ablate.cli.main import main
from ablate.console import make_console

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Größe → 例 \ud800 🙂"
SAY = f"""
from ablate.cli.process import prepare_streams, use_utf8
use_utf8()
prepare_streams()
import sys
print({TEXT!a})
print({TEXT!a}, file=sys.stderr)
"""
OPENED_NEXT = """
from ablate.cli.process import prepare_streams
prepare_streams()
import os, sys
print("lost", flush=True)
sys.stdin.read(), sys.stderr.flush()
file = open("file", "w")
os.write(int(sys.argv[1]), b"into the file?") if sys.argv[1] != "0" else None
raise SystemExit(0 if file.fileno() > 2 else 7)
"""


def python(code, shell="", **environment):
    """Run code in a process of its own, with redirections of the shell."""
    command = ["sh", "-c", f'exec "$0" "$@" {shell}', sys.executable, *code]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, env=env, capture_output=True, input=b"")


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
    ],
)
def test_no_character_ends_a_program(environment):
    done = python(["-c", SAY], **environment)
    assert done.returncode == 0
    encoding = environment.get("PYTHONIOENCODING", "utf-8").partition(":")[0]
    expected = f"{TEXT}\n".encode(encoding, "backslashreplace")
    assert (done.stdout, done.stderr) == (expected, expected)


def test_the_words_of_the_command_line_are_utf_8():
    word = "Übung 例"
    code = f"{SAY}print(sys.argv[1] == {word!a}, sys.flags.utf8_mode)"
    done = python(["-c", code, word], LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.stdout.endswith(b"True 1\n")


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_file_never_takes_the_place_of_a_closed_stream(descriptor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    closing = "<&-" if descriptor == 0 else f"{descriptor}>&-"
    assert python(["-c", OPENED_NEXT, str(descriptor)], closing).returncode == 0
    assert not (tmp_path / "file").read_bytes()


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

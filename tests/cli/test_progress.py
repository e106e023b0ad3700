"""Long work shows how far it is: a line now and then, or a bar at a terminal."""

import io
import sys
import time

import pytest

from ablate import console
from ablate.console import track


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def often(monkeypatch):
    for name in ("AFTER", "EVERY", "REFRESH"):
        monkeypatch.setattr(console, name, 0.02)


def slow(count):
    for item in range(count):
        time.sleep(0.05)
        yield item


def test_elsewhere_than_at_a_terminal_lines_say_how_much_is_done_and_left(often, capsys):
    assert list(track(slow(4), "reading verdicts", 4)) == [0, 1, 2, 3]
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("reading verdicts: 2 of 4, ") for line in lines)
    assert any(line.endswith(" left") for line in lines)


def test_at_a_terminal_there_is_a_bar(often, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    list(track(slow(4), "reading verdicts", 4))
    assert " of 4, " in sys.stderr.getvalue()

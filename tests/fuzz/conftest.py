"""How a command is called with drawn input, and what must hold of it whatever the input is."""

import re
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

FUZZ = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
STATUSES = (0, 1, 2)  # done, the work failed, wrong input

NOTICE = r"ablate \w+: this command is called"  # of an old name
PROGRESS = re.compile(rf"[\w-]+: (checking|preparing|composing)|  |{NOTICE}")


class Said(NamedTuple):
    """What a command left with."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capfd):
    """Call `ablate` with these words; its standard output takes bytes, as translations need."""

    def call(*words):
        from ablate.cli.main import main

        monkeypatch.setattr("sys.argv", ["ablate", *map(str, words)])
        capfd.readouterr()  # of a call before that has failed
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code
        return Said(status, *capfd.readouterr())

    return call


def check(result: Said, given: object = "") -> None:
    """Assert a documented status, no traceback, and a refusal that begins with the command.

    Where the work has failed, what failed is in the output of a sweep with its progress.
    """
    assert result.status in STATUSES, (given, result)
    assert "Traceback" not in result.out + result.err, (given, result)
    if result.status == 2:
        lines = [line for line in result.err.split("\n") if not PROGRESS.match(line)]
        assert re.match(r"ablate( \w+)?: ", lines[0]), (given, result)


def files_of(folder):
    """Return all files below a folder, without locks."""
    paths = sorted(folder.rglob("*"))
    return [path for path in paths if path.is_file() and path.suffix != ".lock"]

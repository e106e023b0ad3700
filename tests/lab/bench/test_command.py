import os

import pytest

from ablate.errors import UserError

DEFAULTS = {"rounds": 5, "seconds": 30.0, "run": None, "what": ["a", "b"]}


def parsed(*arguments):
    from lab.bench.command import options

    return options(arguments, DEFAULTS, ["a", "b"])


def test_options_are_told_from_the_overrides_of_the_runs():
    settings, rest = parsed("rounds=2", "data.root=somewhere", "what=[b]", "seconds=3")
    assert settings == {"rounds": 2, "seconds": 3, "run": None, "what": ["b"]}
    assert rest == ["data.root=somewhere"]


def test_a_single_row_needs_no_brackets():
    assert parsed("what=b")[0]["what"] == ["b"]


def test_tuning_variables_of_the_shell_reach_neither_side(monkeypatch):
    from lab.bench.command import environment

    for name in ("MALLOC_TOP_PAD_", "OMP_NUM_THREADS", "KMP_AFFINITY", "GLIBC_TUNABLES"):
        monkeypatch.setenv(name, "7")
    variables = environment(2, MALLOC_ARENA_MAX="1")
    assert variables["OMP_NUM_THREADS"] == "2" and variables["MALLOC_ARENA_MAX"] == "1"
    assert not {"MALLOC_TOP_PAD_", "KMP_AFFINITY", "GLIBC_TUNABLES"} & set(variables)
    assert variables["PATH"] == os.environ["PATH"]


def test_a_process_that_fails_gives_no_figure():
    from lab.bench.command import environment, run

    with pytest.raises(UserError, match="ended with status 3 and no figure"):
        run(["-c", "import sys; print('{}'); sys.exit(3)"], environment(1))

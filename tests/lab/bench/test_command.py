import os

from lab.bench.command import environment, options

DEFAULTS = {"rounds": 5, "seconds": 30.0, "run": None, "what": ["a", "b"]}


def test_options_are_told_from_the_overrides_of_the_runs():
    words = ["rounds=2", "data.root=somewhere", "what=b", "seconds=3"]
    settings, rest = options(words, DEFAULTS, ["a", "b"])
    assert settings == {"rounds": 2, "seconds": 3, "run": None, "what": ["b"]}
    assert rest == ["data.root=somewhere"]


def test_tuning_variables_of_the_shell_reach_neither_side(monkeypatch):
    for name in ("MALLOC_TOP_PAD_", "OMP_NUM_THREADS", "KMP_AFFINITY", "GLIBC_TUNABLES"):
        monkeypatch.setenv(name, "7")
    variables = environment(2, MALLOC_ARENA_MAX="1")
    assert variables["OMP_NUM_THREADS"] == "2" and variables["MALLOC_ARENA_MAX"] == "1"
    assert not {"MALLOC_TOP_PAD_", "KMP_AFFINITY", "GLIBC_TUNABLES"} & set(variables)
    assert variables["PATH"] == os.environ["PATH"]

import os

from lab.bench.command import environment


def test_tuning_variables_of_the_shell_reach_neither_side(monkeypatch):
    for name in ("MALLOC_TOP_PAD_", "OMP_NUM_THREADS", "KMP_AFFINITY", "GLIBC_TUNABLES"):
        monkeypatch.setenv(name, "7")
    variables = environment(2, MALLOC_ARENA_MAX="1")
    assert variables["OMP_NUM_THREADS"] == "2" and variables["MALLOC_ARENA_MAX"] == "1"
    assert not {"MALLOC_TOP_PAD_", "KMP_AFFINITY", "GLIBC_TUNABLES"} & set(variables)
    assert variables["PATH"] == os.environ["PATH"]

"""Statistics of an earlier run that are damaged end in a sentence, or are left out."""

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.gather import read_rows
from ablate.record.files import write_arrays


@pytest.fixture
def path(tmp_path):
    write_arrays(tmp_path / "test.stats.npz", {"bleu": np.ones((3, 10), dtype=np.int64)})
    return tmp_path / "test.stats.npz"


def cut(path):
    path.write_bytes(path.read_bytes()[:40])


def empty(path):
    path.write_bytes(b"")


def pickled(path):
    with path.open("wb") as file:
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)


def folder(path):
    path.unlink()
    path.mkdir()


def loop(path):
    path.unlink()
    path.symlink_to(path)


def test_sound_statistics_are_read(path):
    assert read_rows(path).shape == (3, 10)


@pytest.mark.parametrize("damage", [cut, empty, pickled, folder, loop])
def test_a_damaged_file_is_named(path, damage):
    damage(path)
    with pytest.raises(UserError, match=r"test\.stats\.npz is damaged"):
        read_rows(path)


@pytest.mark.slow
def test_a_sweep_starts_beside_earlier_runs_with_damaged_statistics(small, command, here, tmp_path):
    words = (*small, "+experiment=relu_vs_linear", "budget.short=null", "-m")
    assert command(*words, "seed=0")[0] == 0
    paths = [*(tmp_path / "results" / "runs").rglob("test.stats.npz")]
    for path in paths:
        cut(path)
    status, _, error = command(*words, "seed=1")
    assert paths and (status, "Traceback" in error) == (0, False), error

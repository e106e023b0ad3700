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


def pickled(path):
    with path.open("wb") as file:
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)


def folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut, pickled, folder])
def test_a_damaged_file_is_named(path, damage):
    damage(path)
    with pytest.raises(UserError, match=r"test\.stats\.npz is damaged"):
        read_rows(path)

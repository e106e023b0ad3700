"""Stretches of numbers in a file that is mapped."""

import pickle
import tracemalloc

import numpy as np
import pytest

from ablate.data.token_ids import OnDisk

NUMBERS = np.arange(1000, dtype=np.uint16) * 7


@pytest.fixture
def file(tmp_path):
    NUMBERS.tofile(tmp_path / "numbers")
    return OnDisk(tmp_path / "numbers", np.uint16)


@pytest.mark.parametrize(
    ("starts", "counts"),
    [([0], [1000]), ([5, 2, 990], [3, 4, 10]), ([7, 7], [0, 2]), ([3], [0]), ([], [])],
)
def test_stretches_come_one_after_the_other(file, starts, counts):
    numbers = file.take(np.array(starts, np.int64), np.array(counts, np.int64))
    wanted = [n for s, c in zip(starts, counts, strict=True) for n in NUMBERS[s : s + c]]
    assert numbers.tolist() == wanted
    assert numbers.dtype == np.uint16
    assert len(file) == 1000


def test_pickling_sends_the_path(file):
    file.take(np.array([0]), np.array([1000]))
    message = pickle.dumps(file)
    assert len(message) < 500
    assert pickle.loads(message).take(np.array([9]), np.array([1])).tolist() == [63]


def test_an_empty_file_has_no_numbers(tmp_path):
    (tmp_path / "numbers").touch()
    file = OnDisk(tmp_path / "numbers", np.uint16)
    assert len(file) == 0
    assert file.take(np.array([], np.int64), np.array([], np.int64)).tolist() == []


def test_only_what_is_wanted_becomes_memory_of_the_process(tmp_path):
    np.zeros(1 << 20, np.int64).tofile(tmp_path / "numbers")
    tracemalloc.start()
    file = OnDisk(tmp_path / "numbers", np.int64)
    for start in range(0, 1 << 20, 1 << 16):
        file.take(np.array([start]), np.array([100]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 17 < (tmp_path / "numbers").stat().st_size

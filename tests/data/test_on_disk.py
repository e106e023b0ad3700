"""Token ids in files that are mapped."""

import numpy as np
import pytest

from ablate.data.tokenizer import TokenIds

ENDS = np.array([0, 3, 4, 300, 310])  # three words, none, many, nine


@pytest.fixture
def ids(tmp_path):
    """The ids 1 to 310, cut into four texts whose last id stands for EOS."""
    numbers = np.arange(1, 311, dtype=np.uint16)
    for name, values in (("ids", numbers), ("offsets", ENDS), ("counts", np.arange(5))):
        values.tofile(tmp_path / f"train.src.{name}")
    return TokenIds(tmp_path / "train.src", "uint16")


@pytest.mark.parametrize("rows", [[0], [3, 0], [1, 2, 1], []])
@pytest.mark.parametrize("at_most", [2, 1000])
def test_texts_come_one_after_the_other(ids, rows, at_most):
    flat, lengths = ids.read(np.array(rows, np.uint8), at_most)
    texts = [list(range(ENDS[row] + 1, ENDS[row + 1]))[:at_most] for row in rows]
    assert flat.tolist() == sum(texts, [])
    assert lengths.tolist() == [len(text) for text in texts]
    assert flat.dtype == np.uint16 and len(ids) == 4


def test_line_numbers_of_one_byte_do_not_overflow(tmp_path):
    np.arange(257).tofile(tmp_path / "s.offsets")
    np.arange(256, dtype=np.uint16).tofile(tmp_path / "s.ids")
    np.arange(5).tofile(tmp_path / "s.counts")
    _, lengths = TokenIds(tmp_path / "s", "uint16").read(np.array([255], np.uint8), 9)
    assert lengths.tolist() == [0]

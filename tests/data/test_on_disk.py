"""Token ids in files that are mapped."""

import numpy as np

from ablate.data.tokenizer import TokenIds


def test_line_numbers_of_one_byte_do_not_overflow(tmp_path):
    np.arange(257).tofile(tmp_path / "s.offsets")
    np.arange(256, dtype=np.uint16).tofile(tmp_path / "s.ids")
    np.arange(5).tofile(tmp_path / "s.counts")
    _, lengths = TokenIds(tmp_path / "s", "uint16").read(np.array([255], np.uint8), 9)
    assert lengths.tolist() == [0]

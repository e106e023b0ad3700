"""What is written can be told from what was changed since."""

import math

import pytest
import torch

from ablate.errors import UserError
from ablate.record import files
from ablate.record.files import check_seal, read_sealed, read_tensors, seal, write_json

RECORD = {
    "status": "finished",
    "metrics": {"val/nll": 1.25, "test/bleu": math.nan},
    "seeds": (1, 2),
}


def test_a_seal_holds_for_what_was_written_in_any_order(tmp_path):
    write_json(tmp_path / "record.json", seal(RECORD))
    record = read_sealed(tmp_path / "record.json")
    assert record == {
        "status": "finished",
        "metrics": {"val/nll": 1.25, "test/bleu": None},
        "seeds": [1, 2],
    }
    assert check_seal(dict(reversed(seal(record).items())))
    assert seal(record)["seal"] == seal(RECORD)["seal"]


@pytest.mark.parametrize(("old", "new"), [("1.25", "1.24"), ('"seal"', '"was"'), ("{", "[")])
def test_an_edited_record_is_named(tmp_path, old, new):
    path = tmp_path / "record.json"
    write_json(path, seal(RECORD))
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match="record.json"):
        read_sealed(path)


def test_tensors_come_back_and_no_changed_bit_changes_them(tmp_path):
    path, values = tmp_path / "weights.pt", torch.arange(300.0)
    digest = files.write_tensors(path, {"w": values})
    assert read_tensors(path)[1] == digest == files.digest_of(path)
    assert torch.equal(torch.load(path, weights_only=True)["w"], values)  # others read it too
    whole, noticed = path.read_bytes(), 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            same = read_tensors(path)[0]["w"]  # the bit lies in a gap, or in a date
        except Exception:
            noticed += 1
        else:
            assert torch.equal(same, values)
    assert noticed > 300 * 4 / 7

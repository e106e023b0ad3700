"""The committed ledger: every sentence of the documents has a verdict, or a reason for none."""

from pathlib import Path

from ablate.ledger.entries import read_entries
from ablate.ledger.headline import NOT_TESTED

ROOT = Path(__file__).resolve().parents[2]


def test_no_claim_is_left_untested():
    entries, warnings = read_entries(ROOT / "experiments", ROOT / "experiments" / "none")
    assert len(entries) >= 249 and not warnings
    assert [entry.claim.id for entry in entries if entry.verdict == NOT_TESTED] == []

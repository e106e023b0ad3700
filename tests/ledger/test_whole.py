"""The committed ledger: every sentence of the documents has a verdict, or a reason for none."""

from pathlib import Path

from ablate.ledger.headline import NOT_TESTED
from ablate.ledger.text import read_entries

from ..experiments import EXPERIMENTS

UNDER_WAY = (
    "The modern Transformer"  # its screen has begun; docs/explanation/modern.md says what asks each
)
ROOT = Path(__file__).resolve().parents[2]


def test_no_claim_is_left_untested():
    entries = read_entries(ROOT / "experiments")
    assert len(entries) >= 249
    untested = [entry.claim for entry in entries if entry.verdict == NOT_TESTED]
    assert [claim.id for claim in untested if claim.document != UNDER_WAY] == []
    asked = " ".join(path.read_text() for path in EXPERIMENTS.values())
    assert [claim.id for claim in untested if claim.id not in asked] == []

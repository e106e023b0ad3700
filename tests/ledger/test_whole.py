"""The committed ledger: every sentence of the documents has a verdict, or a reason for none."""

import json
from pathlib import Path

from ablate.ledger.entries import read_entries
from ablate.ledger.headline import NOT_TESTED
from ablate.ledger.replaced import read_replaced

ROOT = Path(__file__).resolve().parents[2]


def test_what_was_replaced_is_asked_by_another_experiment():
    for (experiment, claim), better in read_replaced().items():
        for name in (experiment, better.by):
            verdict = json.loads((ROOT / "experiments" / name / "verdict.json").read_text())
            assert claim in {one["id"] for one in verdict["claims"]}, name
        assert better.why.endswith(".")


def test_no_claim_is_left_untested():
    entries, warnings = read_entries(ROOT / "experiments", ROOT / "experiments" / "none")
    assert len(entries) >= 249 and not warnings
    assert [entry.claim.id for entry in entries if entry.verdict == NOT_TESTED] == []

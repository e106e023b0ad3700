"""The words for what fresh seeds make of a verdict, and the file that holds them."""

import json
from pathlib import Path

import pytest

from ablate.phrases import claim_name
from ablate.verdict.stored import RESULT, asked_again, is_exact, read_contest, replication

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
CONTESTED = sorted(path.parent for path in EXPERIMENTS.glob(f"*/{RESULT}"))


def entry(verdict, grade="", effect=3.0, interval=(2.0, 4.0)):
    return {"verdict": verdict, "grade": grade, "effect": effect, "interval": interval}


CLEAR = entry("supported", "large enough to matter")


@pytest.mark.parametrize(
    ("first", "fresh", "word"),
    [
        (CLEAR, entry("supported", "large enough to matter", 9.0), "reproduced"),
        (CLEAR, entry("supported", "direction only"), "partly reproduced"),
        (entry("supported", "direction only"), CLEAR, "reproduced"),
        (CLEAR, entry("refuted"), "not reproduced"),
        (CLEAR, entry("inconclusive", effect=1.0, interval=(-1.0, 3.0)), "partly reproduced"),
        (CLEAR, entry("inconclusive", effect=0.5, interval=(-1.0, 2.0)), "not reproduced"),
        (CLEAR, entry("inconclusive", effect=None, interval=None), "not reproduced"),
        (entry("inconclusive"), CLEAR, "open"),
    ],
)
def test_the_word_follows_from_both_verdicts(first, fresh, word):
    assert replication(first, fresh) == word


def claims(folder):
    return json.loads((folder / "verdict.json").read_text())["claims"]


@pytest.mark.parametrize("folder", CONTESTED, ids=lambda folder: folder.name)
def test_every_committed_contest_is_of_the_verdicts_beside_it(folder):
    contest = read_contest(folder)
    by_chance = {claim_name(claim): claim for claim in claims(folder) if not is_exact(claim)}
    assert contest
    for entry in contest:
        claim = by_chance[claim_name(entry)]
        first = entry["first"]  # evidence may be judged otherwise since then
        same = claim["verdict"] == first["verdict"]
        same = same and (first["verdict"] != "supported" or claim.get("grade") == first["grade"])
        same = same and claim["effect"] == pytest.approx(first["effect"], rel=1e-6)
        assert asked_again(claim, contest) == (entry if same else None)


@pytest.mark.parametrize(
    "change", [{"effect": 1.0}, {"reading": "another"}, {"steps": 300, "short": {"steps": 300}}]
)
def test_a_verdict_that_fresh_seeds_were_not_asked_for_has_no_word(change):
    folder = EXPERIMENTS / "dot_products"
    claim, contest = claims(folder)[0], read_contest(folder)
    assert asked_again({**claim, **change}, contest) is None
    assert asked_again({**claim, "statement": "It is worded anew."}, contest) == contest[0]

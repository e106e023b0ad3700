"""A study that cannot be judged is refused before its runs."""

import pytest

from ablate.errors import UserError
from ablate.verdict.study_checks import check_study

CLAIM = {
    "id": "mine",
    "statement": "Warm-up helps",
    "source": "a document",
    "kind": "superiority",
    "metric": "test/bleu",
    "where": {},
    "treatment": {"schedule": "noam"},
    "baseline": {"schedule": "constant"},
    "minus": {},
    "over": "",
    "scale": "log",
    "better": "higher",
    "alpha": 0.05,
    "margin": 0.0,
    "tolerance": 0.0,
    "margin_reason": "",
}
TUNE = {
    "key": "optimizer.lr",
    "values": [1, 2],
    "seeds": [9],
    "metric": "val/nll",
    "better": "lower",
}


def study(tune=None, expect="different", **changes):
    claims = [{**CLAIM, **changes}]
    fields = {"factors": ["schedule", "n"], "seeds": 3, "claims": claims}
    return {**fields, "tune": tune, "expect": expect}


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "equivalence", "margin": 1.0, "margin_reason": "why not"},
        {"kind": "trend", "over": "n", "treatment": {}, "baseline": {}},
        {"kind": "non_inferiority", "margin": 1.0, "margin_reason": "x", "loses": {"n": 1}},
        {"tune": TUNE},
    ],
)
def test_a_sound_study_is_accepted(changes):
    assert check_study(study(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "equality"}, "mine: kind=equality; allowed is exact, superiority"),
        ({"treatment": {"scedule": "noam"}}, "treatment names scedule"),
        ({"margin": -1.0}, "margin=-1.0; allowed is a finite number of at least 0"),
        (
            {"where": {"schedule": "noam"}},
            "where has schedule=noam, but baseline has schedule=constant",
        ),
        ({"margin": 1.0}, "margin=1.0 has no margin_reason"),
        (
            {"kind": "stability", "metric": "unstable", "margin": 5.0, "margin_reason": "percent"},
            "margin=5, but two proportions of runs differ by at most 1",
        ),
        ({"kind": "exact", "minus": {"n": 2}}, "kind=exact does not use the key `minus`"),
        ({"tune": {**TUNE, "metric": "test/bleu"}}, "study.tune: metric=test/bleu"),
    ],
)
def test_what_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        check_study(study(**changes))


def test_one_claim_may_have_several_readings():
    twice = study(reading="as written")
    twice["claims"].append({**CLAIM, "reading": "with the condition left out"})
    assert check_study(twice) is None
    twice["claims"][1]["reading"] = "as written"
    with pytest.raises(UserError, match=f"{CLAIM['id']}: two claims"):
        check_study(twice)

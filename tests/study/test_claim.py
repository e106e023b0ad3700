"""A study that cannot be judged is refused before its runs."""

import pytest

from ablate.errors import UserError
from ablate.verdict.conclude import check_study

TUNE = {
    **{"key": "optimizer.lr", "values": [1, 2], "seeds": [9]},
    **{"metric": "val/nll", "better": "lower"},
}
WITH_MARGIN = {"margin": 1.0, "margin_reason": "why not"}


@pytest.fixture
def study(claim):
    def make(tune=None, **changes):
        sides = {"treatment": {"schedule": "noam"}, "baseline": {"schedule": "constant"}}
        usual = {"margin": 0.0, "margin_reason": "", **sides}
        fields = {"factors": ["schedule", "n"], "seeds": 3, "claims": [claim(**usual | changes)]}
        return {**fields, "tune": tune, "expect": "different"}

    return make


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "equivalence", **WITH_MARGIN},
        {"kind": "trend", "over": "n", "treatment": {}, "baseline": {}},
        {"kind": "non_inferiority", **WITH_MARGIN, "loses": {"n": 1}},
        {"tune": TUNE},
    ],
)
def test_a_sound_study_is_accepted(study, changes):
    assert check_study(study(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"treatment": {"scedule": "noam"}}, "treatment names scedule"),
        ({"where": {"schedule": "noam"}}, "where has schedule=noam"),
        ({"source": ""}, "source"),
        ({"margin": 1.0}, "margin=1.0"),  # without a reason
        (
            {"kind": "stability", "metric": "unstable", "margin": 5.0, "margin_reason": "percent"},
            "margin=5",
        ),
        ({"kind": "exact", "minus": {"n": 2}}, "minus"),
    ],
)
def test_what_is_refused(study, changes, words):
    with pytest.raises(UserError, match=words):
        check_study(study(id="mine", **changes))


def test_one_claim_may_have_several_readings(study, claim):
    twice = study(reading="as written")
    (first,) = twice["claims"]
    twice["claims"] = [first, {**first, "reading": "with the condition left out"}]
    assert check_study(twice) is None
    with pytest.raises(UserError):
        check_study({**twice, "claims": [first, first]})

"""A study that cannot be judged is refused before its runs."""

import pytest

from ablate.errors import UserError
from ablate.study.claim import check_study

CLAIM = {
    "id": "mine",
    "kind": "superiority",
    "where": {},
    "treatment": {"schedule": "noam"},
    "baseline": {"schedule": "constant"},
    "better": "higher",
    "alpha": 0.05,
}


def study(**changes):
    return {"factors": ["schedule"], "claims": [{**CLAIM, **changes}]}


def test_a_sound_study_is_accepted():
    assert check_study(study()) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "equivalence"}, "mine: kind=equivalence has no rule; allowed is exact or super"),
        ({"where": {"seeds": 1}}, "where names seeds, which is not a factor.*allowed is schedule"),
        ({"treatment": {"scedule": "noam"}}, "treatment names scedule"),
        ({"baseline": {"schedule": "noam"}}, "another baseline"),
        ({"treatment": {}}, "another baseline"),
        ({"better": "bigger"}, "better=bigger; allowed is higher or lower"),
        ({"alpha": 5}, "alpha=5"),
    ],
)
def test_what_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        check_study(study(**changes))

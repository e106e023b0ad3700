"""The words for what fresh seeds make of a verdict."""

import pytest

from ablate.study.contest import replication


def entry(verdict, grade="", effect=3.0, interval=(2.0, 4.0)):
    return {"verdict": verdict, "grade": grade, "effect": effect, "interval": interval}


CLEAR = entry("supported", "at least the margin")


@pytest.mark.parametrize(
    ("first", "fresh", "word"),
    [
        (CLEAR, entry("supported", "at least the margin", 9.0), "reproduced"),
        (CLEAR, entry("supported", "there"), "weaker"),
        (entry("supported", "there"), CLEAR, "reproduced"),
        (entry("refuted", "real, but smaller than the margin"), entry("refuted"), "reproduced"),
        (CLEAR, entry("refuted"), "not reproduced"),
        (CLEAR, entry("inconclusive", effect=1.0, interval=(-1.0, 3.0)), "weaker"),
        (CLEAR, entry("inconclusive", effect=0.5, interval=(-1.0, 2.0)), "not reproduced"),
        (CLEAR, entry("inconclusive", effect=None, interval=None), "not reproduced"),
        (entry("supported", interval=None), entry("supported", interval=None), "reproduced"),
        (entry("inconclusive"), CLEAR, "open"),
    ],
)
def test_the_word_follows_from_both_verdicts(first, fresh, word):
    assert replication(first, fresh) == word

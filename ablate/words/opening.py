"""Write the answer to a claim in a few words, without the numbers."""

from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    OPPOSITE,
    REFUTED,
    SMALL,
    SUPPORTED,
    Decision,
)

UNDECIDED = "undecided"
OPENINGS = {
    (SUPPORTED, ""): "Supported",
    (SUPPORTED, LARGE): "Supported",
    (SUPPORTED, DIRECTION): "Supported, but maybe small",
    (REFUTED, ""): "Refuted",
    (REFUTED, SMALL): "Refuted: too small to matter",
    (REFUTED, OPPOSITE): "Refuted: it is the other way round",
    (INCONCLUSIVE, ""): "Undecided",
}
OPENINGS_OF_KIND = {
    ("equivalence", SUPPORTED): "Supported: no difference that matters",
    ("equivalence", REFUTED): "Refuted: there is a difference",
    ("non_inferiority", SUPPORTED): "Supported: not worse by an amount that matters",
    ("non_inferiority", REFUTED): "Refuted: worse by an amount that matters",
}


def opening_of(kind: str, verdict: str, grade: str) -> str:
    """Return the answer to a claim in a few words, from its kind, verdict and grade."""
    return OPENINGS_OF_KIND.get((kind, verdict)) or OPENINGS[verdict, grade]


def graded(status: str, grade: str) -> str:
    """Return a verdict with its grade, such as "supported, large enough to matter"."""
    return str(Decision(UNDECIDED if status == INCONCLUSIVE else status, grade))

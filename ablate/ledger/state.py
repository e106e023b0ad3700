"""The state of a claim given all of its verdicts; their dates do not matter.

Of one reading: supported or refuted where the regimes that are decisive agree; `depends` where they
do not and the difference between two of them is shown, its interval excluding 0; else inconclusive.
Verdicts are not pooled: two budgets share runs, and three regimes estimate no variance.
Equation: for regimes a and b the difference of effects a - b has the lower end
a - b - sqrt((a - l_a)^2 + (u_b - b)^2) and the like upper one (Zou & Donner 2008, square-and-add);
where two regimes share runs their effects go together, and the interval is too wide, not too short.
Readings whose states disagree make the claim depend on the reading.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from ablate.ledger.verdicts import VERDICTS, Finding

SUPPORTED, REFUTED, INCONCLUSIVE = VERDICTS
DEPENDS = "depends"
PARTS = ("data", "model", "steps", "scale", "experiment")  # what regimes may differ in


@dataclass(frozen=True)
class State:
    """A word for a claim, and for `depends` on what."""

    word: str
    on: str = ""


def state(findings: Iterable[Finding]) -> State:
    """The state of a claim from its verdicts, one per reading, experiment and regime.

    Those that were replaced count where there is no other.
    """
    every = list(findings)
    counted = [finding for finding in every if not finding.replaced] or every
    ordered = sorted(counted, key=lambda finding: finding.reading)
    readings = {
        reading: of_reading(list(found))
        for reading, found in itertools.groupby(ordered, lambda finding: finding.reading)
    }
    parted = [one for one in readings.values() if one.word == DEPENDS]
    if parted:
        return parted[0]
    words = {one.word for one in readings.values()} - {INCONCLUSIVE}
    if len(words) > 1:
        return State(DEPENDS, "the reading")
    return State(*words) if words else State(INCONCLUSIVE)


def of_reading(findings: list[Finding]) -> State:
    """The state of one reading over its regimes."""
    decisive = [finding for finding in findings if finding.verdict != INCONCLUSIVE]
    words = {finding.verdict for finding in decisive}
    if len(words) < 2:
        return State(*words) if words else State(INCONCLUSIVE)
    apart = [
        (one, other)
        for one, other in itertools.combinations(decisive, 2)
        if one.verdict != other.verdict and differ(one, other)
    ]
    return State(DEPENDS, _parts(*apart[0])) if apart else State(INCONCLUSIVE)


def differ(one: Finding, other: Finding) -> bool:
    """Whether two regimes differ by more than chance; exact verdicts leave nothing to it."""
    if one.kind == other.kind == "exact":
        return True
    if one.metric != other.metric or not (one.interval and other.interval):
        return False
    (low, high), (other_low, other_high) = one.interval, other.interval
    below = math.hypot(one.effect - low, other_high - other.effect)
    above = math.hypot(high - one.effect, other.effect - other_low)
    apart = one.effect - other.effect
    return apart - below > 0 or apart + above < 0


def _parts(one: Finding, other: Finding) -> str:
    """What the regimes of two verdicts differ in, the experiment where in nothing else."""
    names = [part for part in PARTS if getattr(one, part) != getattr(other, part)]
    return ", ".join([name for name in names if name != "experiment"] or names or ["the contrast"])

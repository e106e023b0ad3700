"""Corrects for multiple tests over the whole ledger: all verdicts that it shows are one family.

A study corrects for its own claims; a hundred studies of nothing would still hold some verdicts.
The family is every verdict that chance could make, over claims, readings, experiments and regimes:
all that are shown but the exact ones. Committed verdicts are one family, and those of the user's
sweeps another, so that no sweep changes what is said of committed verdicts. The p-values of a
family are those of a claim alone, already paid for earlier looks. Holm's correction over them
bounds the chance that any verdict is false, its two directions as ablate.stats.holm counts them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ablate.ledger.places import ORIGINS
from ablate.ledger.verdicts import Finding
from ablate.stats.holm import adjust
from ablate.verdict.decision import INCONCLUSIVE, side

Findings = dict[str, list[Finding]]


def with_family(claims: Findings) -> Findings:
    """The verdicts of every claim, each with the one that the whole ledger leaves of it."""
    corrected: dict[int, Finding] = {}
    for origin in ORIGINS:
        corrected |= _corrected(
            [one for findings in claims.values() for one in findings if one.origin == origin]
        )
    return {name: [corrected.get(id(one), one) for one in claims[name]] for name in claims}


def _corrected(family: list[Finding]) -> dict[int, Finding]:
    """The verdicts of a family that chance could make, corrected, by the id of each object."""
    tested = [one for one in family if one.p]
    held = adjust([one.p for one in tested], [one.alpha for one in tested])
    return {
        id(one): replace(one, ledger_wide=side(p, one.alpha))
        for one, p in zip(tested, held, strict=True)
    }


@dataclass(frozen=True)
class Changes:
    """Verdicts that chance could make, those that decide, and how many of them are lost."""

    tested: int
    decided: int
    by_holm: int

    def __str__(self) -> str:
        """As the summary of the ledger says it."""
        return (
            f"With a correction for testing all {self.tested} statistical claims at once, "
            f"{self.decided - self.by_holm} of {self.decided} verdicts remain (Holm)."
        )


def changes(findings: Iterable[Finding]) -> Changes:
    """What the family takes away."""
    tested = [one for one in findings if one.p]
    decided = [one for one in tested if one.verdict != INCONCLUSIVE]
    return Changes(
        len(tested),
        len(decided),
        sum(one.ledger_wide != one.verdict for one in decided),
    )

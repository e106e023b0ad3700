"""Correct for multiple tests over the whole ledger: its verdicts are one family of tests.

A study corrects for its own claims; but among a hundred studies of nothing, some verdicts would
still be decisive. The family consists of all verdicts that can be wrong by chance, over claims,
readings, experiments and settings: all except exact ones. Committed verdicts are one family, and
those of the user's sweeps another, so that no sweep affects committed verdicts. The p-values of a
family are those of a single claim, which account for interim analyses. Holm's correction over them
bounds the probability that any verdict is false; both directions count, as in ablate.stats.holm.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ablate.ledger.places import ORIGINS
from ablate.ledger.verdicts import Finding
from ablate.stats.holm import adjust
from ablate.verdict.decision import INCONCLUSIVE, side

Findings = dict[str, list[Finding]]


def with_family(claims: Findings) -> Findings:
    """Return the verdicts of every claim, each with the verdict after the correction
    (`ledger_wide`).
    """
    corrected: dict[int, Finding] = {}
    for origin in ORIGINS:
        corrected |= _corrected(
            [
                finding
                for findings in claims.values()
                for finding in findings
                if finding.origin == origin
            ]
        )
    return {
        name: [corrected.get(id(finding), finding) for finding in claims[name]] for name in claims
    }


def _corrected(family: list[Finding]) -> dict[int, Finding]:
    """Return the corrected verdicts of a family, by the id of each object; exact
    ones are left out.
    """
    tested = [finding for finding in family if finding.p]
    adjusted = adjust([finding.p for finding in tested], [finding.alpha for finding in tested])
    return {
        id(finding): replace(finding, ledger_wide=side(p, finding.alpha))
        for finding, p in zip(tested, adjusted, strict=True)
    }


@dataclass(frozen=True)
class Changes:
    """The numbers of tested verdicts, of decisive ones, and of those that the
    correction takes away.
    """

    tested: int
    decided: int
    by_holm: int

    def __str__(self) -> str:
        """Return the sentence for the summary of the ledger."""
        return (
            f"With a correction for testing all {self.tested} statistical claims at once, "
            f"{self.decided - self.by_holm} of {self.decided} verdicts remain (Holm)."
        )


def changes(findings: Iterable[Finding]) -> Changes:
    """Return the effect of the correction on a family."""
    tested = [finding for finding in findings if finding.p]
    decided = [finding for finding in tested if finding.verdict != INCONCLUSIVE]
    return Changes(
        len(tested),
        len(decided),
        sum(finding.ledger_wide != finding.verdict for finding in decided),
    )

"""Correct for multiple tests over the whole ledger, that is, over all claims and their verdicts.

A study corrects only for its own claims. Among a hundred studies without any true effect, some
verdicts would still be decisive. A family of tests consists of all verdicts of one origin that can
be wrong by chance, over claims, experiments and settings: all except exact verdicts. There are
three origins: committed verdicts, the user's experiments and the user's sweeps. So no verdict of
the user affects committed verdicts. The p-values of a family are those of each claim alone, and
already account for interim analyses. Holm's correction over them bounds the probability that any
verdict of the family is false. A verdict has one p-value for "supported" and one for "refuted", but
is only one member of the family; the smaller p-value represents it (ablate.stats.holm).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ablate.ledger.places import ORIGINS
from ablate.ledger.verdicts import Finding
from ablate.stats.holm import adjust
from ablate.verdict.decision import INCONCLUSIVE, side

Findings = dict[str, list[Finding]]


def with_family(claims: Findings) -> Findings:
    """Return the verdicts on every claim, each with the verdict after Holm's correction.

    The corrected verdict is in `ledger_wide`.
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
    """Return the verdicts of a family of tests with their corrected verdicts.

    The keys are the results of Python's `id()` for the given objects. Exact verdicts are left out.
    """
    tested = [finding for finding in family if finding.p]
    adjusted = adjust([finding.p for finding in tested], [finding.alpha for finding in tested])
    return {
        id(finding): replace(finding, ledger_wide=side(p, finding.alpha))
        for finding, p in zip(tested, adjusted, strict=True)
    }


@dataclass(frozen=True)
class Changes:
    """How a correction for multiple tests changes the verdicts of a family.

    Args:
        tested: number of verdicts with a test.
        decided: number of these verdicts that are supported or refuted without the correction.
        by_holm: number of decided verdicts that the correction makes undecided.
    """

    tested: int
    decided: int
    by_holm: int

    def __str__(self) -> str:
        """Return a sentence on how many verdicts remain after the correction, for the summary of
        the ledger (the list of all claims with their verdicts).
        """
        return (
            f"With a correction for testing all {self.tested} statistical claims at once, "
            f"{self.decided - self.by_holm} of {self.decided} verdicts remain (Holm)."
        )


def changes(findings: Iterable[Finding]) -> Changes:
    """Return how Holm's correction changes the verdicts of a family."""
    tested = [finding for finding in findings if finding.p]
    decided = [finding for finding in tested if finding.verdict != INCONCLUSIVE]
    return Changes(
        len(tested),
        len(decided),
        sum(finding.ledger_wide != finding.verdict for finding in decided),
    )

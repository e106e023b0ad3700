"""Find the interim analyses of a claim, and the fraction of the planned seeds in each analysis."""

from collections.abc import Collection

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Asked, Question
from ablate.phrases import name_of
from ablate.stats.spending import ONCE, Fractions

UNASKED = Asked(looks=[], tried=[], regimes=0)


def asked_of(claim: Question, evidence: Evidence) -> Asked:
    """Return the history of a claim in the analysis log.

    The history is empty for evidence without a log. The log lists the claims that are not exact, in
    order, so that a renamed claim keeps its history.
    """
    asked = evidence.registration.get("asked", {})
    names = [
        name_of(other_claim)
        for other_claim in evidence.study["claims"]
        if other_claim["kind"] != "exact"
    ]
    if len(asked) != len(names):
        return asked.get(name_of(claim), UNASKED)
    return dict(zip(names, asked.values(), strict=True)).get(name_of(claim), UNASKED)


def looks_of(claim: Question, evidence: Evidence, seeds: Collection[int]) -> Fractions:
    """Return the fraction of the planned seeds at each analysis; the current analysis is last.

    An earlier analysis counts only if it had some of the present seeds, but not all of them. An
    analysis of all planned seeds leaves no alpha for later analyses. A later analysis is then
    judged like a single analysis, and its verdict is exploratory.

    Args:
        claim: the claim.
        evidence: the evidence, with the history of each claim.
        seeds: the seeds of the claim's finished runs.
    """
    planned = evidence.study["seeds"]
    saw = [len({*seeds} & {*seen}) for seen in asked_of(claim, evidence)["looks"]]
    earlier = sorted({count for count in saw if 0 < count < len(seeds)})
    if not seeds or any(count >= planned for count in earlier):
        return ONCE
    return tuple(min(1.0, count / planned) for count in (*earlier, len(seeds)))

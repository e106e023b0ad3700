"""Decide every claim of a study, by a statistical test or, for exact claims, by a check of every
case. The module ablate.verdict.wording writes the sentences on the decisions.
"""

from collections.abc import Sequence

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim
from ablate.progress import track
from ablate.stats.holm import Tests, adjust
from ablate.verdict.decision import SUPPORTED, Decision, side
from ablate.verdict.exact import Exact
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Finding


def decide(
    evidence: Evidence, waiting: Sequence[Claim] = ()
) -> list[tuple[Finding, Tests, Decision]]:
    """Return for every claim its statistical result, its Holm-adjusted p-values, and its decision.

    Exact claims (a condition must hold in every case) have no random error and no p-values.

    Args:
        evidence: the evidence of the study.
        waiting: planned claims that lack the runs of an arm. Those with a statistical test count in
            the correction with the p-value 1, so that their later results cannot undo a decision.

    Raises:
        UserError: the recorded BLEU of a run and its statistics per sentence disagree.
    """
    claims = evidence.study["claims"]
    counted = track(claims, "judging claims", len(claims))
    findings = [kind_of(claim).find(claim, evidence) for claim in counted]
    tested = [finding for finding in findings if finding.p]
    scaled = [kind_of(finding.claim).scaled(finding.p) for finding in tested]
    later = [claim for claim in waiting if claim["kind"] != "exact"]
    alphas = [claim["alpha"] for claim in (*(finding.claim for finding in tested), *later)]
    adjusted = iter(adjust([*scaled, *({SUPPORTED: 1.0} for _ in later)], alphas))
    return [_decided(finding, next(adjusted) if finding.p else {}) for finding in findings]


def _decided(finding: Finding, p: Tests) -> tuple[Finding, Tests, Decision]:
    if isinstance(finding.result, Exact):
        return finding, p, Decision(finding.result.verdict)
    return finding, p, decision(finding, p)


def decision(finding: Finding, p: Tests) -> Decision:
    """Return the decision on a claim.

    If the rates of failed runs decide, the decision has no grade.

    Args:
        finding: the statistical result of the claim.
        p: p-values by name of the decision, multiplied so that each is compared with alpha.
    """
    if finding.rates is not None:
        return Decision(side(p, finding.claim["alpha"]))
    return kind_of(finding.claim).decide(p, finding.claim["alpha"])

"""Write sentences for the web pages of claims, such as what would change a verdict, or how many
claims of a document are supported.

The sentences of the verdicts themselves come from ablate.verdict.wording.
"""

from collections.abc import Mapping

from ablate.evidence.types import ReportedClaim
from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.metric.table import metric_of
from ablate.phrases import listed
from ablate.verdict.decision import INCONCLUSIVE, is_exact
from ablate.verdict.kind import KINDS
from ablate.verdict.wording.details import is_exponent, unit_of

MINUTE, HOUR = 60, 3600
NEVER = "are definitions, customs, titles or opinions, which no experiment"
ONE_NEVER = "is a definition, custom, title or opinion, which no experiment"


def duration(seconds: float) -> str:
    """Return a time in words, such as minutes or hours."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} minutes"
    return f"{seconds / HOUR:.1f} hours"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 run, 48 runs."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def changes(claim: ReportedClaim, per_seed: float) -> list[str]:
    """Return sentences on what would change the verdict on a claim, such as more seeds.

    Args:
        claim: the claim with its verdict.
        per_seed: computing time of a seed in seconds; with 0, the sentences name no time.
    """
    sentences = _more_seeds(claim, per_seed)
    if claim.get("cannot") and claim["verdict"] == INCONCLUSIVE:
        sentences.append("If an arm is still learning, longer training is needed, not more seeds.")
    if claim["verdict"] == INCONCLUSIVE and not sentences:
        sentences += _not_planned(claim)
    if is_exact(claim):
        sentences.append("A single further case in which the claim does not hold would refute it.")
    return sentences


def _not_planned(claim: ReportedClaim) -> list[str]:
    """Return sentences on what would decide a claim for which no number of seeds was computed."""
    if not claim["sensitivity"]:
        return ["No number of seeds would decide the claim: other variants or settings are needed."]
    if is_exact(claim):
        return []
    return ["Each further seed makes the interval narrower."]


def rule(claim: ReportedClaim) -> str:
    """Return a sentence on when a claim of this kind is supported and when it is refuted."""
    return f"{KINDS[claim['kind']].rule}."


def _more_seeds(claim: ReportedClaim, per_seed: float) -> list[str]:
    """Return sentences on how many seeds would be needed for a decision on a claim.

    Each sentence is about one decision, such as supported. It assumes the true effect for which the
    study was planned, and names the number of seeds with which the decision has power 0.8. If the
    study has this number of seeds already, the sentence is left out.

    Args:
        claim: the claim with its verdict.
        per_seed: computing time of a seed in seconds; with 0, the sentences name no time.
    """
    sentences = []
    for side, plan in (claim["seeds_needed"] or {}).items():
        condition, seeds = _if_true(claim, plan["effect"]), plan["seeds"]
        if not seeds:
            reason = KINDS[claim["kind"]].beyond_most_seeds
            sentences.append(f"To show that the claim is {side} if {condition}, {reason}.")
        elif seeds > claim["pairs"]:
            number = _how_many(seeds, claim["pairs"], per_seed)
            sentences.append(f"{number} would show that the claim is {side}, if {condition}.")
    return sentences


def _if_true(claim: ReportedClaim, effect: float) -> str:
    metric = metric_of(claim["metric"])
    if not effect:
        return "there is no difference"
    if is_exponent(claim):
        return f"the true exponent is {unit_of(claim).say(effect)}"
    return f"the true effect is {metric.say(effect)} {metric.name}"


def _how_many(seeds: int, present: int, per_seed: float) -> str:
    """Return text such as "12 seeds in all (3 hours more on one processor core)".

    Args:
        seeds: the required number of seeds.
        present: the number of seeds so far.
        per_seed: time of a seed in seconds; with 0, the text has no time.
    """
    more = duration((seeds - present) * per_seed)
    return f"{seeds:,} seeds in all" + (f" ({more} more on one processor core)" if per_seed else "")


def stands(title: str, counts: Mapping[str, int]) -> list[str]:
    """Return at most three sentences on the results for the claims that a document makes.

    A document is a text about the Transformer whose claims are tested; `title` is its title.
    `counts` has the number of claims by result, such as "supported" or "mixed".
    """
    total = sum(counts.values())
    decided = [
        f"{counts['supported']} supported",
        f"{counts['refuted']} refuted",
        f"{counts[MIXED]} mixed",
        f"{counts[UNDECIDED]} undecided",
    ]
    sentences = [f"{title} makes {counted(total, 'claim')}: {listed(decided)}."]
    if waiting := counts[NOT_TESTED]:
        sentences.append(
            f"{counted(waiting, 'claim')} {'is' if waiting == 1 else 'are'} not tested yet."
        )
    if never := counts[NOT_TESTABLE]:
        sentences.append(
            f"{counted(never, 'claim')} {ONE_NEVER if never == 1 else NEVER} can decide."
        )
    return sentences

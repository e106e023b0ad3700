"""What pages say in sentences of their own."""

from collections.abc import Mapping

from ablate.evidence.types import ReportedClaim
from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.metric.table import metric_of
from ablate.phrases import listed
from ablate.verdict.decision import INCONCLUSIVE, is_exact
from ablate.verdict.kind import KINDS

MINUTE, HOUR = 60, 3600
NEVER = "are definitions, customs, titles or opinions, which no experiment"
ONE_NEVER = "is a definition, custom, title or opinion, which no experiment"


def duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} minutes"
    return f"{seconds / HOUR:.1f} hours"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 run, 48 runs."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def changes(told: ReportedClaim, per_seed: float) -> list[str]:
    """What would change a verdict, as sentences; `per_seed` are seconds of one seed of its arms."""
    sentences = _more_seeds(told, per_seed)
    if told.get("cannot") and told["verdict"] == INCONCLUSIVE:
        sentences.append("Where an arm still learns, longer training is needed, not more seeds.")
    if told["verdict"] == INCONCLUSIVE and not told["seeds_needed"]:
        sentences += _not_planned(told)
    if is_exact(told):
        sentences.append("One more case that breaks the rule would refute the sentence.")
    return sentences


def _not_planned(told: ReportedClaim) -> list[str]:
    """What would decide a claim for which no number of seeds is planned."""
    if not told["sensitivity"]:
        return ["No number of seeds would decide it: other variants or settings are needed."]
    if is_exact(told):
        return []
    return ["Each further seed makes the interval narrower."]


def rule(told: ReportedClaim) -> str:
    """When such a claim is supported and when refuted."""
    return f"{KINDS[told['kind']].rule}."


def _more_seeds(told: ReportedClaim, per_seed: float) -> list[str]:
    """Say how many seeds would show each answer, if a named effect were the true one."""
    pairs = told["pairs"]
    return [
        f"{_how_many(plan['seeds'], pairs, per_seed)} would show that the claim is {side}, if "
        f"{_if_true(told, plan['effect'])}."
        for side, plan in (told["seeds_needed"] or {}).items()
    ]


def _if_true(told: ReportedClaim, effect: float) -> str:
    metric = metric_of(told["metric"])
    if not effect:
        return "there is no difference"
    return f"the true effect is {metric.say(effect)} {metric.name}"


def _how_many(seeds: int | None, own: int, per_seed: float) -> str:
    """So many seeds, and how long those take that are not there; None: no number is enough.

    Where no run is at hand `per_seed` is 0, and nothing is said of time.
    """
    if not seeds:
        return "No number of seeds"
    more = duration((seeds - own) * per_seed)
    return f"{seeds} seeds" + (
        f" ({more} more on one processor core)" if seeds > own and per_seed else ""
    )


def stands(title: str, counts: Mapping[str, int]) -> list[str]:
    """What experiments say of a document, in at most three sentences."""
    total = sum(counts.values())
    decided = [
        f"{counts['supported']} supported",
        f"{counts['refuted']} refuted",
        f"{counts[MIXED]} mixed",
        f"{counts[UNDECIDED]} undecided",
    ]
    sentences = [f"{title} makes {counted(total, 'claim')}: {listed(decided)}."]
    if waiting := counts[NOT_TESTED]:
        sentences.append(f"{waiting} {'is' if waiting == 1 else 'are'} not tested yet.")
    if never := counts[NOT_TESTABLE]:
        sentences.append(f"{never} {ONE_NEVER if never == 1 else NEVER} can decide.")
    return sentences

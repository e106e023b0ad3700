"""What pages say in sentences of their own."""

from collections.abc import Mapping

from ablate.evidence.types import Told
from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.metric.table import metric_of
from ablate.phrases import listed
from ablate.verdict.decision import INCONCLUSIVE, Decision, is_exact
from ablate.verdict.kind import KINDS

MINUTE, HOUR = 60, 3600


def duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} minutes"
    return f"{seconds / HOUR:.1f} hours"


def changes(told: Told, per_seed: float) -> list[str]:
    """What would change a verdict, as sentences; `per_seed` are seconds of one seed of its arms."""
    said = [*_other_margins(told), *_more_seeds(told, per_seed)]
    if told.get("cannot") and told["verdict"] == INCONCLUSIVE:
        said.append("Where an arm still learns, what it cannot takes more updates, not more seeds.")
    if told["verdict"] == INCONCLUSIVE and not told["seeds_needed"]:
        said += _not_planned(told)
    if is_exact(told):
        said.append("One more case that breaks the rule would refute it: no share of cases does.")
    elif (least := told["detectable"]) is not None:
        metric = metric_of(told["metric"])
        seen = f"{metric.say(least)} {metric.name}"
        said.append(f"With power .8 these runs can show {seen}, and nothing less.")
    return said


def _not_planned(told: Told) -> list[str]:
    """What would decide a claim for which no number of seeds is planned."""
    if not told["sensitivity"]:
        return ["No number of seeds is known to decide it: other arms or settings are needed."]
    if is_exact(told):
        return []
    return ["Each further seed narrows the interval; no effect is named to plan for."]


def rule(told: Told) -> str:
    """When such a claim is supported and when refuted."""
    return f"{KINDS[told['kind']].rule}."


def _other_margins(told: Told) -> list[str]:
    turns, metric = told["sensitivity"], metric_of(told["metric"])
    own = "tolerance" if told["kind"] == "exact" and not told["margin"] else "margin"
    if not turns and told["verdict"] == INCONCLUSIVE:
        return []
    if len(turns) < 2:
        return [f"No other {own} would change it."]
    sizes = [f"{t['from']:.3g}" if own == "tolerance" else metric.say(t["from"]) for t in turns]
    words = [str(Decision(turn["verdict"], turn["grade"])) for turn in turns]
    first = f"{words[0]} below {sizes[1]}"
    rest = [f"{word} from {size} on" for word, size in zip(words[1:], sizes[1:], strict=True)]
    return [f"By its {own} it is {listed([first, *rest])}."]


def _more_seeds(told: Told, per_seed: float) -> list[str]:
    metric, own = metric_of(told["metric"]), told["pairs"]
    return [
        f"{_how_many(plan['seeds'], own, per_seed)} would show it {side} where the true effect is "
        f"{metric.say(plan['effect'])} {metric.name}."
        for side, plan in (told["seeds_needed"] or {}).items()
    ]


def _how_many(seeds: int | None, own: int, per_seed: float) -> str:
    """So many seeds, and how long those take that are not there; None: no number is enough.

    Where no run is at hand `per_seed` is 0, and nothing is said of time.
    """
    if not seeds:
        return "No number of seeds"
    more = duration((seeds - own) * per_seed)
    return f"{seeds} seeds" + (f" ({more} of one worker more)" if seeds > own and per_seed else "")


def stands(title: str, counts: Mapping[str, int]) -> list[str]:
    """What of a document stands, in two sentences."""
    whole = sum(counts.values())
    decided = [
        _count(counts["supported"], "stands", "stand"),
        _count(counts["refuted"], "does not", "do not"),
        _count(counts[MIXED], "is", "are") + " mixed",
        _count(counts[UNDECIDED], "is", "are") + " undecided",
    ]
    open_, never = counts[NOT_TESTED], counts[NOT_TESTABLE]
    return [
        f"This ledger has {whole} sentences of {title}: {listed(decided)}.",
        f"{_count(open_, 'is', 'are')} not tested yet; {_count(never, 'is', 'are')} for no run to "
        "decide (definitions, customs, titles, opinions).",
    ]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"

"""Make the tables of a report, as text."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.combined import Combined, CombinedChange
from ablate.evidence.folder import Evidence
from ablate.evidence.table import by_label, steps_of
from ablate.evidence.types import Entry, Published, Run, Spread, Target, Verdict
from ablate.metric.table import NOTHING, metric_of
from ablate.phrases import grouped, listed, name_of, number_of, text
from ablate.report.details import details
from ablate.report.selection import measured, named_metric, outcomes
from ablate.verdict.decision import at_each_budget
from ablate.verdict.sides import has

# metrics that are shown after those of the claims, if the runs have them
USUAL = ("test/bleu", "test/nll", "test_long/bleu")
ENDINGS = ("diverged", "collapsed", "failed")
# fields of a claim's details that are text; they are aligned to the left
WORDS = {"Answer", "Metric"}
ESTIMATES = (
    *("Answer", "Metric", "Optimiser steps", "Estimate", "Interval", "Interval for equivalence"),
    *("Margin", "Paired seeds", "Runs of each arm", "p (supported, Holm)", "p (refuted, Holm)"),
)
CASES = (
    *("Answer", "Metric", "Optimiser steps", "Cases that hold", "Seeds that hold"),
    *("Largest deviation", "Smallest value", "Mean deviation", "Interval"),
    *("Interval for equivalence", "Allowed deviation", "Needed value"),
    *("p (supported, Holm)", "p (refuted, Holm)"),
)
COMPARED = {*ESTIMATES, *CASES, "Steps to equal validation loss"}


@dataclass(frozen=True)
class Table:
    """A table with cells of plain text; the first `words` columns hold words, and the other columns
    hold numbers.
    """

    head: list[str]
    rows: list[list[str]]
    words: int = 1  # number of columns with words

    @property
    def markdown(self) -> str:
        """The table as Markdown; columns of numbers are aligned to the right."""
        rule = ["---" if i < self.words else "---:" for i in range(len(self.head))]
        head, *rows = ([text(cell) for cell in row] for row in (self.head, *self.rows))
        return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *rows))


def comparable(evidence: Evidence, verdict: Verdict) -> dict[str, Table]:
    """Return the tables that compare claims or arms, by the names of their files."""
    asked = [*at_each_budget(verdict["claims"])]
    by_name = {
        "estimates": _answers(asked, ESTIMATES, exact=False),
        "exact_claims": _answers(asked, CASES, exact=True),
        "arms": arms(evidence, verdict),
        "time_to_target": targets(evidence, verdict),
        "published": published(evidence, verdict),
    }
    if whole := verdict.get("combined"):
        by_name |= {"changes": _changes(whole), "pairs": _pairs(whole)}
    return {name: table for name, table in by_name.items() if table is not None}


def arms(evidence: Evidence, verdict: Verdict) -> Table:
    """Return a table with a row for each arm: mean and standard deviation of each metric, and the
    number of runs by status.
    """
    metrics = _metrics(verdict)
    counts, runs = outcomes(evidence.runs), by_label(evidence.runs)
    head = ["Arm", "Seeds", *(named_metric(evidence, key).named_axis for key in metrics)]
    rows = [
        [
            arm["label"],
            str(arm["seeds"]),
            *(_spread(arm["metrics"].get(metric), metric) for metric in metrics),
            " / ".join(str(counts[arm["label"]][ending]) for ending in ENDINGS),
            str(sum(run["reused"] for run in runs[arm["label"]])),
            _sizes(runs[arm["label"]]),
        ]
        for arm in verdict["arms"]
    ]
    return Table([*head, " / ".join(ENDINGS).capitalize(), "Reused", "Parameters"], rows)


def _metrics(verdict: Verdict) -> list[str]:
    """Return the metrics of the claims and then the usual metrics, if at least one arm has them."""
    asked = [claim["metric"] for claim in verdict["claims"] if claim["metric"] != "parameters"]
    available = {metric for arm in verdict["arms"] for metric in arm["metrics"]}
    return [metric for metric in dict.fromkeys([*asked, *USUAL]) if metric in available]


def _spread(spread: Spread | None, metric: str) -> str:
    if spread is None:
        return NOTHING
    return metric_of(metric).spread(spread["mean"], spread["sd"])


def _sizes(runs: list[Run]) -> str:
    sizes = sorted({int(n) for run in runs if (n := run["metrics"].get("parameters"))})
    return " to ".join(f"{n:,}" for n in dict.fromkeys([*sizes[:1], *sizes[-1:]])) or NOTHING


def titles(claims: Sequence[Entry]) -> list[str]:
    """Return the statement of each claim, with the claim's number if there are several claims."""
    numbers = number_of(claims)
    return [
        f"{numbers[name_of(claim)]}. {claim['statement']}"
        if len(numbers) > 1
        else claim["statement"]
        for claim in claims
    ]


def _answers(claims: Sequence[Entry], fields: Sequence[str], *, exact: bool) -> Table | None:
    """Return a table with a row for each selected claim; None if no claim is selected.

    Args:
        claims: the claims with their verdicts.
        fields: names of details (`ablate.report.details`), such as "Estimate", as columns; a field
            that no selected claim has is left out.
        exact: whether to select the exact claims (claims that a condition holds in every case), or
            all other claims.
    """
    chosen = [
        (title, details(claim, claim))
        for title, claim in zip(titles(claims), claims, strict=True)
        if (claim["kind"] == "exact") == exact
    ]
    if not chosen:
        return None
    used = [field for field in fields if any(field in details for _, details in chosen)]
    rows = [[title, *(details.get(field, NOTHING) for field in used)] for title, details in chosen]
    return Table(["Claim", *used], rows, words=1 + len(WORDS & {*used}))


def fields_of(claim: Entry) -> Table:
    """Return a table with the details of a claim that no other table shows: field and value."""
    rows = [[key, value] for key, value in details(claim, claim).items() if key not in COMPARED]
    return Table(["Field", "Value"], rows, words=2)


def targets(evidence: Evidence, verdict: Verdict) -> Table | None:
    """Return a table of times to target: the number of training steps after which the validation
    nll of a baseline has fallen to that of its treatment at the short budget.

    The short budget (`budget.short`) is the smaller of the two numbers of training steps after
    which the runs were tested. The result is None if no claim has a time to target.
    """
    rows = [
        [title, *_target(claim, target, evidence)]
        for claim, title in zip(verdict["claims"], titles(verdict["claims"]), strict=True)
        if (short := claim.get("short")) and (target := short["time_to_target"])
    ]
    if not rows:
        return None
    head = ["Claim", "Target", "By", "Steps", "Interval", "Seconds to the target", "Seconds by"]
    return Table(head, rows, words=3)


def _target(claim: Entry, target: Target, evidence: Evidence) -> list[str]:
    levels = [claim["where"] | claim[arm] for arm in ("treatment", "baseline")]
    early, late = ([run for run in evidence.runs if has(run, arm)] for arm in levels)
    assert evidence.short
    short = [run for run in evidence.short.runs if has(run, levels[0])]
    steps = steps_of(short, "budget.short", evidence.short.regime["steps"])
    most = steps_of(late, "budget.steps", evidence.regime["steps"])
    needed, first = target["updates"], _first_validation(late)
    below, above = f"at most {first:,.0f}", f"> {grouped(most)}"

    def shown(steps: int | float | None) -> str:
        return above if steps is None else below if steps == first else f"{steps:,.0f}"

    ends_text = [shown(end) for end in target["interval"] or []]
    seconds = _seconds(late, needed)
    until = _seconds(early, None if isinstance(steps, list) else steps)
    processors = ({run.get("processor", "") for run in runs} for runs in (early, late))
    if set.isdisjoint(*processors):
        seconds = until = NOTHING  # times on different processors say nothing about the models
    return [
        f"{arm_label(claim['treatment'])} after {grouped(steps)}",
        arm_label(claim["baseline"]),
        shown(needed),
        f"[{', '.join(ends_text)}]" if ends_text else NOTHING,
        until,
        f"at most {seconds}" if needed == first and seconds != NOTHING else seconds,
    ]


def _first_validation(runs: Sequence[Run]) -> int | float:
    """Return the number of training steps before the first validation of the runs; 0 if there is
    none.
    """
    steps = [run["curve"]["step"][0] for run in runs if run["curve"].get("step")]
    return min((step for step in steps if step is not None), default=0)


def _seconds(runs: Sequence[Run], updates: int | float | None) -> str:
    """Return the time of `updates` training steps as text, by the median time of a step in the
    runs.
    """
    costs = [run["update_seconds"] for run in runs if "update_seconds" in run]
    if not costs or updates is None:
        return NOTHING
    return f"{statistics.median(costs) * updates:,.1f}"


def wrong(evidence: Evidence) -> Table | None:
    """Return a table with a row for every run that did not finish; None if all runs finished."""
    rows = [
        [arm, str(run["seed"]), run["status"], _when(run), run.get("error", "") or NOTHING]
        for arm, runs in by_label(evidence.runs).items()
        for run in runs
        if run["status"] != "finished"
    ]
    return Table(["Arm", "Seed", "Status", "Last validation", "Error"], rows, 5) if rows else None


def _when(run: Run) -> str:
    steps = run["curve"].get("step", [])
    return f"step {steps[-1]:,.0f}" if steps else NOTHING


def screening(evidence: Evidence) -> Table | None:
    """Return a table of the tuning scores: a row for each arm and hyperparameter value, a column
    for each seed.
    """
    tune = evidence.study.get("tune")
    if not tune or not evidence.screening:
        return None
    chosen = Counter((run["arm"], run["tuned"]["value"]) for run in evidence.runs if "tuned" in run)
    seeds = sorted({run["seed"] for run in evidence.screening})
    rows = []
    for arm, runs in by_label(evidence.screening).items():
        for level in dict.fromkeys(run["tuned"]["value"] for run in runs):
            tried = {run["seed"]: run for run in runs if run["tuned"]["value"] == level}
            cells = [_tried(tried.get(seed), tune["metric"]) for seed in seeds]
            rows.append([arm, f"{level}{_chosen(chosen, runs[0]['arm'], level)}", *cells])
    head = ["Arm", factor_label(tune["key"]).capitalize(), *(f"Seed {seed}" for seed in seeds)]
    return Table(head, rows, words=2)


def _chosen(chosen: Counter[tuple[str, Any]], arm: str, level: Any) -> str:
    """Return text on how many seeds of an arm had a hyperparameter value chosen by tuning; "" if
    none had.
    """
    took = chosen[arm, level]
    of = sum(count for (name, _), count in chosen.items() if name == arm)
    if not took:
        return ""
    return ", chosen" if took == of else f", chosen by {took} of {of}"


def _tried(run: Run | None, metric: str) -> str:
    if run is None:
        return NOTHING
    if run["status"] == "failed":
        return "failed"
    score = metric_of(metric).say(measured(run, metric))
    return score if run["status"] == "finished" else f"{score} ({run['status']})"


def published(evidence: Evidence, verdict: Verdict) -> Table | None:
    """Return a table of numbers from the literature, beside our numbers for the arm of the same
    name.
    """
    rows = [
        [
            _named(verdict, number["arm"]),
            metric_of(number["metric"]).axis,
            number["source"],
            number["regime"],
            metric_of(number["metric"]).say(number["value"]),
            listed(_ours(verdict, number)) or NOTHING,
        ]
        for number in evidence.study.get("published", [])
    ]
    head = ["Arm", "Metric", "Source", "Setting", "Published", "Here"]
    return Table(head, rows, words=4) if rows else None


def _named(verdict: Verdict, arm: str) -> str:
    """Return the label of an arm of the study; if there is no arm of this name, the name itself."""
    labels = {each["arm"]: each["label"] for each in verdict["arms"]}
    return labels.get(arm, arm)


def _ours(verdict: Verdict, number: Published) -> list[str]:
    """Return our results for the arm of a published number; if no arm has its name, for all arms
    that contain the words of the name.
    """
    by_name = {arm["arm"]: arm for arm in verdict["arms"]}
    words = set(number["arm"].split())
    close = [name for name in by_name if words <= set(name.split())]
    names = [number["arm"]] if number["arm"] in by_name else close
    return [
        (f"{by_name[name]['label']}: " if len(names) > 1 else "")
        + _spread(by_name[name]["metrics"].get(number["metric"]), number["metric"])
        for name in names
    ]


def by_effect(result: Combined) -> list[CombinedChange]:
    """Return the changes with the best at the top; changes without an estimate come last."""
    return sorted(result["changes"], key=lambda x: (x["effect"] is None, -(x["effect"] or 0.0)))


def _changes(result: Combined) -> Table:
    """Return a table of the effects of all changes, of which positive ones are better."""
    rows = [
        [
            arm_label(change["level"]),
            _gain(change["effect"], change["half_width"], result["metric"]),
            _gain(change["average"], change["average_half_width"], result["metric"]),
        ]
        for change in by_effect(result)
    ]
    return Table(["Change", "Gain at the best rates", "Average gain over rates"], rows)


def _pairs(result: Combined) -> Table | None:
    """Return a table of the pairs of changes that interact most; None without pairs."""
    say = metric_of(result["metric"]).say
    rows = [
        [
            arm_label(pair["levels"]),
            say(pair["selected"], sign=True),
            f"{say(pair['effect'], sign=True)} ± {say(pair['error'])}",
            f"{pair['p']:.2g}",
        ]
        for pair in result["pairs"]
    ]
    head = ["Pair", "Found in one half", "Tested in the other (± standard error)", "p (Holm)"]
    return Table(head, rows) if rows else None


def _gain(effect: float | None, half: float | None, metric: str) -> str:
    say = metric_of(metric).say
    if effect is None:
        return NOTHING
    if half is None:
        return f"{say(effect, sign=True)} (no interval)"
    return f"{say(effect, sign=True)} ({say(effect - half)} to {say(effect + half)})"

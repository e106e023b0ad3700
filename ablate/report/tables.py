"""Make the tables of a report: data frames whose cells are text."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pandas import DataFrame

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import by_label, value
from ablate.evidence.types import Run
from ablate.metric.table import METRICS, NOTHING, Metric, metric_in_words, metric_of
from ablate.phrases import listed, name_of, number_of, text
from ablate.report.details import details
from ablate.verdict.stored import at_each_budget
from ablate.verdict.types import Combined, CombinedChange, Entry, Verdict

# metrics that are shown after those of the claims, if the runs have them
USUAL = ("test/bleu", "test/nll", "test_long/bleu")
ENDINGS = ("diverged", "collapsed", "failed")
ANSWER = ("Claim", "Answer", "Metric", "Optimiser steps")
SIDES = ("p (supported, Holm)", "p (refuted, Holm)")
ESTIMATES = (
    *(*ANSWER, "Estimate", "Interval", "Interval for equivalence", "Margin"),
    *("Paired seeds", "Runs of each arm", *SIDES),
)
CASES = (
    *(*ANSWER, "Cases that hold", "Seeds that hold", "Largest deviation", "Smallest value"),
    *("Mean deviation", "Interval", "Interval for equivalence", "Allowed deviation"),
    *("Needed value", *SIDES),
)
WORDS = re.compile(r"[^\W\d_]{3}")


def markdown(table: DataFrame) -> str:
    """Return a table as Markdown; columns of numbers are aligned to the right."""
    words = [any(map(WORDS.search, table.iloc[:, i])) for i in range(table.shape[1])]
    rule = ["---" if column else "---:" for column in words]
    head, *rows = ([text(cell) for cell in row] for row in (table.columns, *table.to_numpy()))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *rows))


def comparable(evidence: Evidence, verdict: Verdict) -> dict[str, DataFrame]:
    """Return the tables that compare claims or arms, by the names of their files."""
    claims = [*at_each_budget(verdict["claims"])]
    rows = [
        (claim["kind"] == "exact", {**details(claim, claim), "Claim": title})
        for title, claim in zip(titles(claims), claims, strict=True)
    ]
    by_name = {
        "estimates": _columns(ESTIMATES, [row for exact, row in rows if not exact]),
        "exact_claims": _columns(CASES, [row for exact, row in rows if exact]),
        "arms": arms(evidence, verdict),
        "published": published(evidence, verdict),
    }
    if combined := verdict.get("combined"):
        by_name |= {"changes": _changes(combined), "pairs": _pairs(combined)}
    return {name: table for name, table in by_name.items() if len(table)}


def _columns(fields: Iterable[str], rows: list[dict[str, str]]) -> DataFrame:
    """Return a table of rows with these fields; a field that no row has is left out."""
    used = [field for field in fields if any(field in row for row in rows)]
    return DataFrame([{field: row.get(field, NOTHING) for field in used} for row in rows])


def fields_of(claim: Entry) -> DataFrame:
    """Return a table with the details of a claim that no other table shows: field and value."""
    compared = {*(CASES if claim["kind"] == "exact" else ESTIMATES)} - {"Claim"}
    rows = [(key, value) for key, value in details(claim, claim).items() if key not in compared]
    return DataFrame(rows, columns=["Field", "Value"])


def titles(claims: Sequence[Entry]) -> list[str]:
    """Return the statement of each claim, with the claim's number if there are several claims."""
    numbers = number_of(claims)
    several = len(numbers) > 1
    return [
        f"{numbers[name_of(claim)]}. {claim['statement']}" if several else claim["statement"]
        for claim in claims
    ]


def arms(evidence: Evidence, verdict: Verdict) -> DataFrame:
    """Return a table with a row for each arm: mean and standard deviation of each metric, and the
    number of runs by status.
    """
    asked = [claim["metric"] for claim in verdict["claims"] if claim["metric"] != "parameters"]
    available = {metric for arm in verdict["arms"] for metric in arm["metrics"]}
    metrics = [metric for metric in dict.fromkeys([*asked, *USUAL]) if metric in available]
    names = [named_metric(evidence, metric).named_axis for metric in metrics]
    head = ["Arm", "Seeds", *names, "Diverged / collapsed / failed", "Reused", "Parameters"]
    tune = evidence.study.get("tune")
    head += [factor_label(tune["key"]).capitalize()] if tune else []
    by_arm, rows = by_label(evidence.runs), []
    for arm in verdict["arms"]:
        runs = by_arm[arm["label"]]
        values = [_spread(arm["metrics"], metric) for metric in metrics]
        endings = " / ".join(str(dict(arm)[ending]) for ending in ENDINGS)
        sizes = sorted({int(n) for run in runs if (n := run["metrics"].get("parameters"))})
        size = " to ".join(f"{n:,}" for n in dict.fromkeys([*sizes[:1], *sizes[-1:]])) or NOTHING
        reused = sum(run["reused"] for run in runs)
        chosen = Counter(run["tuned"]["value"] for run in runs if "tuned" in run)
        levels = [f"{level} ({count} runs)" for level, count in chosen.items()]
        tuned = str(*chosen) if len(chosen) == 1 else listed(levels) or NOTHING
        row = [arm["label"], str(arm["seeds"]), *values, endings, str(reused), size, tuned]
        rows.append(row[: len(head)])
    return DataFrame(rows, columns=head)


def named_metric(evidence: Evidence, key: str) -> Metric:
    """Return the description of a metric, with its name and unit.

    For a metric that is not in the project's table of metrics, such as the measurement of a probe,
    the name is taken from the key `measures` of a claim about the metric.
    """
    if key.rpartition("/")[2] in METRICS:
        return metric_of(key)
    names = (c.get("measures") for c in evidence.study["claims"] if c["metric"] == key)
    return metric_in_words(key, next(filter(None, names), None))


def _spread(metrics: Any, metric: str) -> str:
    spread = metrics.get(metric)
    return metric_of(metric).spread(spread["mean"], spread["sd"]) if spread else NOTHING


def published(evidence: Evidence, verdict: Verdict) -> DataFrame:
    """Return a table of numbers from the literature, beside our numbers for the same arm."""
    ours: dict[Any, Any] = {arm["arm"]: arm for arm in verdict["arms"]}
    rows = []
    for number in evidence.study.get("published", []):
        arm, metric = ours.get(number["arm"], {}), metric_of(number["metric"])
        here = _spread(arm.get("metrics", {}), number["metric"])
        names = [arm.get("label", number["arm"]), metric.axis, number["source"], number["regime"]]
        rows.append([*names, metric.say(number["value"]), here])
    return DataFrame(rows, columns=["Arm", "Metric", "Source", "Setting", "Published", "Here"])


def measured(run: Run, metric: str) -> float | None:
    """Return the value of a metric for a run; None if the run failed or the value is missing."""
    if run["status"] == "failed":
        return None
    try:
        return value(run, metric)
    except KeyError:
        return None


def by_effect(result: Combined) -> list[CombinedChange]:
    """Return the changes with the best at the top; changes without an estimate come last."""
    return sorted(result["changes"], key=lambda x: (x["effect"] is None, -(x["effect"] or 0.0)))


def _changes(result: Combined) -> DataFrame:
    """Return a table of the effects of all changes, of which positive ones are better."""
    rows = [
        [
            arm_label(change["level"]),
            _gain(change["effect"], change["half_width"], result["metric"]),
            _gain(change["average"], change["average_half_width"], result["metric"]),
        ]
        for change in by_effect(result)
    ]
    return DataFrame(rows, columns=["Change", "Gain at the best rates", "Average gain over rates"])


def _gain(effect: float | None, half: float | None, metric: str) -> str:
    say = metric_of(metric).say
    if effect is None:
        return NOTHING
    if half is None:
        return f"{say(effect, sign=True)} (no interval)"
    return f"{say(effect, sign=True)} ({say(effect - half)} to {say(effect + half)})"


def _pairs(result: Combined) -> DataFrame:
    """Return a table of the pairs of changes that interact most."""
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
    return DataFrame(rows, columns=head)

"""Write the parts of a report: how the claims were tested, the results of combinations, the command
that decides more claims, and the tables, whose cells are text; and print verdicts in a terminal.

In tables, an estimate is treatment minus baseline, in units of the metric. An answer has only the
fields that apply to its claim.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pandas import DataFrame
from rich.console import Console
from rich.text import Text

from ablate.config.labels import arm_label, factor_label
from ablate.config.study import Levels
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import RATE, command
from ablate.evidence.outcome import by_label
from ablate.metric import METRICS, NOTHING, Metric, metric_in_words, metric_of
from ablate.phrases import (
    MARKS,
    claim_name,
    claims_numbered,
    code,
    counted,
    deviation,
    grouped,
    interpretation,
    listed,
    number_of,
    percent,
    probability,
    text,
)
from ablate.record.results import value_text
from ablate.verdict.conclude import USUAL
from ablate.verdict.kinds import kind_of
from ablate.verdict.sides import words_of
from ablate.verdict.stored import at_each_budget
from ablate.verdict.types import INCONCLUSIVE, Combined, CombinedChange, Entry, Verdict
from ablate.words.answer import claim_metric, direction, seeds_needed, short_answer, unit_of
from ablate.words.reasons import caveat_text, regime, scope_sentence

FIGURES = ("gains", "effects", "combined", "curves")  # the first of them is named
SLOW = "test/bleu"  # rises later than the loss falls


def combined_lines(result: Combined) -> Iterator[str]:
    """Yield paragraphs on noise, interactions and the best recipe."""
    say, (low, high) = metric_of(result["metric"]).say, result["interaction_interval"]
    if result["interaction"] is not None and result["run_deviation"] is not None:
        ends = f"{say(low)} to {say(high)}" if high is not None else "no upper limit"
        yield (
            f"Two runs of a recipe vary by {say(result['run_deviation'])} (standard deviation). "
            f"Recipes vary around the sum of their effects by {say(result['interaction'])} "
            f"(95 % CI {ends}). The sum explains {100 * (result['share'] or 0.0):.0f} % of "
            "the variance between recipes."
        )
    best = result["best"]
    yield (
        f"The best recipe has {arm_label(best['levels'])}. If gains add up, it is better than the "
        f"first levels by {say(best['gain'])} ± {say(best['error'])} (standard error)."
    )
    if missing := [arm_label(level) for level in result["unestimated"]]:
        yield f"Too few runs that learned determine the effect of {listed(missing)}."


def method_sentences(claims: Sequence[Entry]) -> Iterator[str]:
    """Yield sentences on how claims are tested and where they come from; claims with the same
    sentences share them.
    """
    groups: dict[str, list[int]] = {}
    for number, claim in enumerate(claims, 1):
        groups.setdefault(_test(claim), []).append(number)
    for sentences, numbers in groups.items():
        yield f"{claims_numbered(numbers) if len(claims) > 1 else 'Claim'}: {sentences}"


def _test(claim: Entry) -> str:
    """Return sentences on how a claim is tested, and on its source."""
    kind, margin, reason = claim["kind"], claim["margin"], claim.get("margin_reason")
    metric = metric_in_words(claim["metric"], claim.get("measures")).axis.removesuffix(" (count)")
    parts = [kind.replace("_", "-"), f"Measured: {metric}"]
    if margin:
        name = "Needed: at least" if kind == "exact" else "Margin:"
        parts.append(f"{name} {margin:g}{f' ({reason})' if reason else ''}")
    elif kind == "exact":
        parts.append(f"Tolerance: {claim['tolerance']:g}")
    if claim["source"]:
        parts.append(f"Source: {claim['source']}")
    return ". ".join(parts) + "."


def next_runs(evidence: Evidence, verdict: Verdict, folder: object = "FOLDER") -> str:
    """Return advice with the command to run next. The command trains the seeds that undecided
    claims need. If too few runs of a comparison learned to translate, it compares the same runs by
    their loss instead. Return "" if no claim needs more runs, if each seed is another recipe (a
    study of combinations), or if `ablate` did not train the runs.

    Seeds that are added to the analysed ones would make a verdict exploratory. The command
    therefore trains new seeds alone, unless the verdict is exploratory already.
    """
    study = evidence.study
    claims = verdict["claims"]
    undecided = [claim for claim in claims if claim["verdict"] == INCONCLUSIVE]
    needs = {claims.index(claim) + 1: n for claim in undecided if (n := seeds_needed(claim))}
    problems = {x["problem"]["code"] for x in undecided if x["metric"] == SLOW and "problem" in x}
    too_short = study.get("exploratory") and problems & {"nothing_learned", "too_few_learned"}
    given = words_of(evidence.registration.get("command", ""))[3:]  # after python -m ablate
    if too_short:
        advice = "The loss falls before BLEU rises: train more steps, or compare by the loss:"
        return f"{advice}\n\n    {code(f'ablate compare {folder} --metric test/nll')}"
    if not needs or not given or "combined" in verdict:
        return ""
    needed = max(needs.values())
    each = listed([f"claim {number} (about {n:,} seeds)" for number, n in needs.items()])
    advice = f"These runs have {study['seeds']} seeds; more may decide {each}."
    fresh = [f"seed=range({needed})"]
    if study.get("exploratory"):
        advice += " Written as a claim before (docs/howto/claims.md), it is not exploratory:"
    else:
        advice += f" To train {needed:,} new seeds, judged without these runs and not exploratory:"
        last = max(run.get("replicate", 0) for run in evidence.runs)
        fresh += [f"budget.seeds={needed}", f"replicate={last + 1}", "contest=true"]
        if planned := study.get("baseline_seeds"):  # in proportion, as the forecast assumes
            further = math.ceil(planned * needed / study["seeds"])
            fresh.append(f"study.baseline_seeds={further}")
    keys = {"-m", *(word.partition("=")[0] for word in fresh)}
    words = [*(word for word in given if word.partition("=")[0] not in keys), *fresh]
    return f"{advice}\n\n    {code(command(words, '-m'))}"


def announce_report(console: Console, evidence: Evidence, verdict: Verdict, folder: Path) -> None:
    """Print all verdicts, the command that runs more seeds for the undecided claims, and the paths
    of the report and of its first figure.
    """
    announce(console, verdict)
    if advice := next_runs(evidence, verdict, folder):
        console.print(f"\n{advice}", soft_wrap=True)
    console.print(f"\nreport: {folder / 'report.md'}", soft_wrap=True)
    pictures = (folder / f"figures/{name}.svg" for name in FIGURES)
    if picture := next(filter(Path.exists, pictures), None):
        console.print(f"picture: {picture}", soft_wrap=True)


def announce(console: Console, verdict: Any) -> None:
    """Print the verdict of every claim, the setting to which it applies, and all caveats.

    The verdict has the words of `ablate.words.answer.with_words`.
    """
    claims = verdict["claims"]
    for number, claim in enumerate(claims, 1):
        reading = interpretation(claim, claims)
        marks = [f"[{reading}]"] * bool(reading) + ["(exploratory)"] * claim["exploratory"]
        marks += ["(models were still improving)"] * bool(claim.get("learning", {}).get("still"))
        mark = MARKS[claim["verdict"]]
        words = f"{f'{number}. ' * (len(claims) > 1)}{claim['headline']}"
        headline = Text(f"{mark.letter} {words}", f"bold {mark.colour}")
        console.print("\n", headline, *(f" {each}" for each in marks), sep="", soft_wrap=True)
        console.print(f"  {claim['evidence']}", soft_wrap=True)
        if short := claim.get("short"):
            when = f"  After {grouped(short['steps'])} steps: {short_answer(claim, short)}."
            console.print(f"{when} {short['evidence']}", soft_wrap=True)
    combined = combined_lines(verdict["combined"]) if "combined" in verdict else ()
    lines = [f"\n{line}" for line in (*combined, scope_sentence(verdict))]
    lines += [f"Setting: {regime(verdict)}.", *(f"- {caveat_text(x)}" for x in verdict["caveats"])]
    console.print("\n".join(lines), soft_wrap=True)


COMPARED = [  # fields of the table of all claims
    *("Claim", "Answer", "Metric", "Optimiser steps", "Estimate", "Interval"),
    *("Interval for equivalence", "Margin", "Paired seeds", "Runs of each arm"),
    *("Cases that hold", "Largest deviation", "Smallest value", "Mean deviation"),
    *("Allowed deviation", "Needed value", "p (supported, Holm)", "p (refuted, Holm)"),
]
Fields = Iterator[tuple[str, str]]
WORDS = re.compile(r"[^\W\d_]{3}")


def markdown(table: DataFrame) -> str:
    """Return a table as Markdown; columns of numbers are aligned to the right."""
    words = [any(map(WORDS.search, table.iloc[:, i])) for i in range(table.shape[1])]
    rule = ["---" if column else "---:" for column in words]
    head, *rows = ([text(cell) for cell in row] for row in (table.columns, *table.to_numpy()))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *rows))


def comparison_tables(evidence: Evidence, verdict: Verdict) -> dict[str, DataFrame]:
    """Return the tables that compare claims or arms, by the names of their files."""
    claims = [*at_each_budget(verdict["claims"])]
    compared = DataFrame([details(claim) for claim in claims], columns=COMPARED)
    compared["Claim"] = titles(claims)
    compared = compared.dropna(axis=1, how="all").fillna(NOTHING)
    by_name = {"claims": compared, "arms": arms(evidence, verdict)}
    if combined := verdict.get("combined"):
        by_name |= {"changes": _table_of_changes(combined), "pairs": _pairs(combined)}
    return {name: table for name, table in by_name.items() if len(table)}


def details(claim: Any) -> dict[str, str]:
    """Return the statistical details of a claim's result as text, by name, such as "Estimate",
    "Interval" and "Margin".
    """
    parts = (_question, _estimate, _tests, _exact, _power_fields)
    return {name: value for part in parts for name, value in part(claim) if value}


def _question(claim: Any) -> Fields:
    yield "Claim", claim["id"]
    yield "Kind", claim["kind"].replace("_", "-")
    yield "Answer", short_answer(claim, claim)
    yield "Metric", claim_metric(claim).axis
    yield "Key of the metric", claim["metric"]
    yield "Treatment", _arm(claim["treatment"])
    yield "Baseline", f"{claim['target']:g}" if "target" in claim else _arm(claim["baseline"])
    yield "Both arms have", _arm(claim["where"])
    yield "Compared with the difference at", _arm(claim["minus"])
    if over := claim["over"]:
        yield "Slope over", f"{factor_label(over)} [{over}], scale: {claim['scale']}"
    if "steps" in claim:
        yield "Optimiser steps", grouped(claim["steps"])


def _arm(levels: Levels) -> str:
    """Return the label of an arm with its overrides in brackets; "" without levels."""
    overrides = ", ".join(f"{factor}={value_text(level)}" for factor, level in levels.items())
    return f"{arm_label(levels)} [{overrides}]" if levels else ""


def _estimate(claim: Any) -> Fields:
    two_sided = percent(1 - claim["alpha"]), percent(1 - 2 * claim["alpha"])
    if claim.get("decided_by_failures"):
        rates = [f"{count['runs']} of {count['of']}" for count in claim["failed_to_learn"].values()]
        yield "Estimate", f"{' against '.join(rates)} runs failed to learn"
    elif "cases" not in claim and claim["effect"] is not None:
        yield "Estimate", _range(claim, [claim["effect"]])
    if ends := claim["interval"]:
        yield "Interval", f"{_range(claim, ends)} ({two_sided[0]} %)"
    if ends := claim.get("interval_equivalence"):
        yield "Interval for equivalence", f"{_range(claim, ends)} ({two_sided[1]} %)"
    if claim["margin"] and claim["kind"] != "exact":
        yield "Margin", f"{claim['margin']:g}"


def _range(claim: Any, effects: Sequence[float | None]) -> str:
    """Return an effect, or the ends of an interval, in units of the metric; "" if infinite."""
    ends = [end for end in effects if end is not None and math.isfinite(end)]
    signed = sorted(direction(claim) * end + 0.0 for end in ends)
    return " to ".join(unit_of(claim).say(effect, sign=True) for effect in signed)


def _tests(claim: Any) -> Fields:
    noise = f" over {listed(claim['noise'])}" if claim["noise"] else ""
    yield "Test", claim["method"] + noise
    for side in claim["p"]:
        yield f"p ({side}, Holm)", probability(claim["p_adjusted"].get(side))
    if shares := claim.get("information"):
        yield "Interim analyses", listed([f"{100 * share:.0f} %" for share in shares]) + " of seeds"
    if counts := claim.get("counts") or [of for _, of in claim.get("rates", [])]:
        yield "Runs of each arm", listed(counts)
    elif claim["p"]:
        yield "Paired seeds", f"{claim['pairs']}"
    if (control := claim.get("control")) is not None:
        loses = "" if control["loses"] else "; it does not lose enough"
        interval = f"; {ends}" if (ends := _range(claim, control["interval"])) else ""
        effect = _range(claim, [control["effect"]])
        yield "Arm that must lose", f"{control['arm']}: {effect}{interval}{loses}"
    elif kind_of(claim).controlled:
        yield "Arm that must lose", "none in these runs, so their sensitivity is not shown"


def _exact(claim: Any) -> Fields:
    if (cases := claim.get("cases")) is None:
        return
    extreme = "Smallest value" if claim["margin"] else "Largest deviation"
    holding = cases.get("holding", cases["counted"] - cases["broken"])
    yield "Cases that hold", f"{holding} of {cases['counted']}"
    if cases["counted"]:
        yield "Mean deviation" if "holding" in cases else extreme, deviation(claim["effect"])
    limit = f"{claim['margin'] or claim['tolerance']:g}"
    yield "Needed value" if claim["margin"] else "Allowed deviation", limit
    if left := cases["of"] - cases["counted"]:
        yield "Cases that do not count", f"{left}, since the check did not respond to a fault there"


def _power_fields(claim: Any) -> Fields:
    unit, kind = unit_of(claim), kind_of(claim)
    if (least := claim["detectable"]) is not None:
        name = "margin" if kind.needs_margin else "effect"
        yield f"Smallest {name} that these runs show with 80 % power", unit.say(least)
    for side, plan in (claim["seeds_needed"] or {}).items():
        seeds = f"{plan['seeds']:,}" if plan["seeds"] else f"more than {kind.most_seeds:,}"
        true = f"assumed true effect: {unit.say(plan['effect'])}"
        yield f"Seeds that show it {side} with 80 % power", f"{seeds} ({true})"
    if len(bands := claim["sensitivity"]) > 1:  # else the answer is always the same
        # a band of an exact claim begins at a tolerance, which changes no word of its answer
        at = [short_answer(claim | {"margin": x["from"]}, claim | x) for x in bands]
        answers = [f"from {x['from']:.4g} on: {y}" for x, y in zip(bands, at, strict=True)]
        exact = claim["kind"] == "exact" and not claim["margin"]
        alone = ", without Holm's correction" * ("uncorrected" in claim)
        yield "Answer by tolerance" if exact else f"Answer by margin{alone}", "; ".join(answers)


def fields_of(claim: Entry) -> DataFrame:
    """Return a table with the details of a claim that no other table shows: field and value."""
    rows = [(k, v) for k, v in details(claim).items() if k == "Claim" or k not in COMPARED]
    return DataFrame(rows, columns=["Field", "Value"])


def titles(claims: Sequence[Entry]) -> list[str]:
    """Return the statement of each claim, with the claim's number if there are several claims."""
    numbers = number_of(claims)
    return [f"{numbers[claim_name(x)]}. " * (len(numbers) > 1) + x["statement"] for x in claims]


def arms(evidence: Evidence, verdict: Verdict) -> DataFrame:
    """Return a table with a row for each arm: mean and standard deviation of each metric, and the
    number of runs that failed to learn or ended in an error.
    """
    asked = [claim["metric"] for claim in verdict["claims"] if claim["metric"] != "parameters"]
    available = {metric for arm in verdict["arms"] for metric in arm["metrics"]}
    metrics = [metric for metric in dict.fromkeys([*asked, *USUAL]) if metric in available]
    failures = [claim.get("failed_to_learn", {}) for claim in verdict["claims"]]
    tune, by_arm, rows = evidence.study.get("tune"), by_label(evidence.runs), []
    for arm in verdict["arms"]:
        runs = by_arm[arm["label"]]
        sizes = {int(n) for run in runs if (n := run["metrics"].get("parameters"))}
        ends = dict.fromkeys([min(sizes), max(sizes)] if sizes else [])
        row = {"Arm": arm["label"], "Seeds": str(arm["seeds"])}
        for metric in metrics:
            spread: Any = arm["metrics"].get(metric) or {"mean": None, "sd": None}
            row[named_metric(evidence, metric).heading] = metric_of(metric).spread(**spread)
        counts = [x[arm["label"]]["runs"] for x in failures if arm["label"] in x]
        row["Failed to learn"] = str(max(arm["diverged"] + arm["collapsed"], *counts, 0))
        row["Errors"] = str(arm["failed"])
        row["Parameters"] = " to ".join(f"{size:,}" for size in ends) or NOTHING
        tuned = [run["tuned"]["value"] for run in runs if "tuned" in run]
        chosen = Counter(tuned if tune else [run["rate"] for run in runs if "rate" in run])
        if tune or chosen:
            levels = [f"{level} ({counted(n, 'run')})" for level, n in chosen.items()]
            label = factor_label(tune["key"] if tune else RATE).capitalize()
            row[label] = str(*chosen) if len(chosen) == 1 else listed(levels) or NOTHING
        rows.append(row)
    return DataFrame(rows)


def named_metric(evidence: Evidence, key: str) -> Metric:
    """Return the description of a metric, with its name and unit.

    For a metric that is not in the project's table of metrics, such as the measurement of a probe,
    the name is taken from the key `measures` of a claim about the metric.
    """
    known = key.rpartition("/")[2] in METRICS
    names = (c.get("measures") for c in evidence.study["claims"] if c["metric"] == key)
    return metric_in_words(key, None if known else next(filter(None, names), None))


def by_effect(result: Combined) -> list[CombinedChange]:
    """Return the changes with the best at the top; changes without an estimate come last."""
    return sorted(result["changes"], key=lambda x: (x["effect"] is None, -(x["effect"] or 0.0)))


def _table_of_changes(result: Combined) -> DataFrame:
    """Return a table with the effect of every change; a positive effect is an improvement."""
    say = metric_of(result["metric"]).say

    def gain(effect: float | None, half: float | None) -> str:
        if effect is None:
            return NOTHING
        ends = "no interval" if half is None else f"{say(effect - half)} to {say(effect + half)}"
        return f"{say(effect, sign=True)} ({ends})"

    return DataFrame(
        {
            "Change": arm_label(change["level"]),
            "Gain at the best rates": gain(change["effect"], change["half_width"]),
            "Average gain over rates": gain(change["average"], change["average_half_width"]),
        }
        for change in by_effect(result)
    )


def _pairs(result: Combined) -> DataFrame:
    """Return a table of the pairs of changes that interact most."""
    say = metric_of(result["metric"]).say
    return DataFrame(
        {
            "Pair": arm_label(pair["levels"]),
            "Found in one half": say(pair["selected"], sign=True),
            "Tested in the other": f"{say(pair['effect'], sign=True)} ± {say(pair['error'])}",
            "p (Holm)": f"{pair['p']:.2g}",
        }
        for pair in result["pairs"]
    )

"""Write the caveats of a study as sentences.

A caveat about some of the claims begins with the numbers of these claims: "Claims 1 and 3: ...".
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from statistics import mean
from typing import Any

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import differ_in_code, planned_looks
from ablate.evidence.outcome import NOT_LEARNED, value
from ablate.evidence.table import by_label, steps_of
from ablate.evidence.tuned import ordered, tried
from ablate.evidence.types import Claim, Entry, Levels, Run
from ablate.metric.table import metric_of
from ablate.phrases import counted, grouped, listed, name_of, number_of, quoted
from ablate.stats.ties import at_most
from ablate.verdict.budgets import WITHOUT
from ablate.verdict.kind.base import Judged
from ablate.verdict.stages import FUTILE, needed
from ablate.verdict.study_checks import COUNTED
from ablate.verdict.wording.claim_caveats import OF_HOLM, claim_caveats, merged, of_sizes

ENDS: dict[str, Callable[[list[Any]], Any]] = {"largest": max, "smallest": min}
OF_TIMES = "While times were measured"
SUBJECT = re.compile(r"Claims? ([\d, and]+): ")
IDLE = 0.2  # number of cores that other processes may use during a time measurement


def caveats(evidence: Evidence, judged: Sequence[Judged], waiting: Sequence[Claim]) -> list[str]:
    """Return all caveats of a study as sentences; caveats about the whole study come first.

    Args:
        evidence: the evidence of the study.
        judged: the claims.
        waiting: planned claims that lack the runs of an arm.
    """
    return [
        *_of_study(evidence),
        *_of_waiting(len(judged) + len(waiting), len(waiting)),
        *_of_tuning(evidence),
        *_of_match(evidence),
        *merged(of_sizes, judged, evidence),
        *_of_machine(evidence),
        *_of_runs(evidence, waiting),
        *claim_caveats(evidence, judged, waiting),
    ]


def _of_study(evidence: Evidence) -> Iterator[str]:
    for fixed in evidence.study["fixed"]:
        yield f"{fixed[:1].upper()}{fixed[1:]}."
    if evidence.registration.get("earlier"):
        forms = len(evidence.registration["earlier"])
        yield (
            "The plan of the study (claims, arms, margins and seeds) was changed "
            f"{counted(forms, 'time')} before the present version."
        )


def _of_waiting(planned: int, waiting: int) -> Iterator[str]:
    if waiting:
        have, each = ("has", "it") if waiting == 1 else ("have", "each")
        yield (
            f"Of {planned} planned claims, {waiting} {have} no answer yet: {each} compares an arm "
            "that has no runs."
        )


def _of_tuning(evidence: Evidence) -> Iterator[str]:
    """Yield the caveats on a tuned parameter.

    The best value may be the largest or the smallest of the values that were tried, it may have
    been tuned in a shorter training than that of the verdicts, or the seeds of an arm may have
    chosen different values.
    """
    tune = evidence.study.get("tune")
    if not tune:
        return
    name, arms = factor_label(tune["key"]), by_label([x for x in evidence.runs if "tuned" in x])
    grids = tried(evidence) if ordered(tune["values"]) else {}
    at = {word: _at_end(arms, grids, end) for word, end in ENDS.items() if grids}
    extremes = [f"the {word} for {listed(labels)}" for word, labels in at.items() if labels]
    if extremes:
        wider = {value for grid in grids.values() for value in grid} - {*tune["values"]}
        values = sorted({*tune["values"], *wider}) if wider else tune["values"]
        yield (
            f"The best {name} of those tried ({listed(values)}) is {'; it is '.join(extremes)}. "
            f"A better {name} may lie outside this range."
        )
    if evidence.short:
        short, steps = (
            grouped(steps_of(every.runs, factor, every.regime["steps"]))
            for every, factor in ((evidence.short, "budget.short"), (evidence, "budget.steps"))
        )
        yield (
            f"The {name} was tuned in runs of {short} steps, and reused without tuning in runs of "
            f"{steps} steps, for which another value may be better."
        )
    yield from _of_tuned_values(evidence, name, arms)


def _of_tuned_values(evidence: Evidence, name: str, arms: dict[str, list[Run]]) -> Iterator[str]:
    """Yield a caveat if the seeds of an arm chose different values, and the mean results of these
    values differ by more than the margin of a claim.

    Args:
        evidence: the evidence of the study.
        name: name of the tuned parameter.
        arms: the tuned runs by the label of their arm.
    """
    margins: dict[str, float] = {}
    for claim in evidence.study["claims"]:
        if claim["margin"] and claim["kind"] not in WITHOUT:
            margins[claim["metric"]] = min(claim["margin"], margins.get(claim["metric"], math.inf))
    for key, margin in margins.items():
        apart = [
            f"{quoted(arm)} ({listed(values)})"
            for arm, runs in arms.items()
            if (values := _apart_by_value(runs, key, margin))
        ]
        if apart:
            yield (
                f"In some arms, different seeds chose different values of {name}, and the mean "
                f"{metric_of(key).name} of the runs with each value differs by more than the "
                f"margin: {'; '.join(apart)}."
            )


def _apart_by_value(runs: list[Run], metric: str, margin: float) -> list[str]:
    """Return the mean of a metric for each tuned value that at least two runs have, as text; [] if
    these means differ by at most the margin. Runs that learned nothing are left out.
    """
    results: dict[Any, list[float]] = {}
    for run in (run for run in runs if run["status"] == "finished"):
        with suppress(KeyError):  # the run lacks the metric, or its value is not finite
            results.setdefault(run["tuned"]["value"], []).append(value(run, metric))
    means = {x: mean(group) for x, group in results.items() if len(group) > 1}
    if len(means) < 2:
        return []
    low, high = min(means.values()), max(means.values())
    if at_most(high - low, margin, max(-low, high)):
        return []
    say = metric_of(metric).say
    return [f"{say(means[x])} with {x} in {len(results[x])} runs" for x in sorted(means)]


def _at_end(
    arms: dict[str, list[Run]], grids: dict[int, list[Any]], end: Callable[[list[Any]], Any]
) -> list[str]:
    """Return labels of the arms in which some runs chose the largest (or smallest) tried value.

    If only some runs of an arm did so, their number follows the label.

    Args:
        arms: the tuned runs by the label of their arm.
        grids: the values that each run tried, by cell number.
        end: `max` or `min`.
    """
    labels = []
    for arm, runs in arms.items():
        if took := sum(run["tuned"]["value"] == end(grids[run["cell"]]) for run in runs):
            some = "" if took == len(runs) else f" ({took} of {len(runs)} runs)"
            labels.append(f"{quoted(arm)}{some}")
    return labels


def _of_match(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence on the settings that were adjusted to make all arms equal in cost.

    Yield nothing for a study without a match.
    """
    match = evidence.study.get("match")
    if not match:
        return
    arms = by_label([run for run in evidence.runs if "matched" in run]).items()
    sizes = [f"{arm_label(runs[0]['matched'])} with {quoted(arm)}" for arm, runs in arms]
    yield (
        f"All arms have about as many {COUNTED[match['by']]} as the arm with "
        f"{quoted(arm_label(match['to']))}, because these settings were adjusted: "
        f"{'; '.join(sizes)}."
    )


def _of_machine(evidence: Evidence) -> Iterator[str]:
    """Yield a caveat if other processes were running during time measurements."""
    busy_cores = (run["metrics"].get("probe/others") for run in evidence.runs)
    busy = max((cores for cores in busy_cores if cores is not None), default=0.0)
    if busy > IDLE:
        yield (
            f"{OF_TIMES}, other processes kept up to {busy:.1f} cores busy. On an idle machine the "
            "times would be shorter."
        )


def _of_runs(evidence: Evidence, waiting: Sequence[Claim]) -> Iterator[str]:
    failed = [run for run in evidence.runs if run["status"] == "failed"]
    if failed:
        cells = listed([run["cell"] for run in failed])
        verb, cell = ("are", "cells") if len(failed) > 1 else ("is", "cell")
        yield (
            f"{counted(len(failed), 'run')} raised an error and {verb} left out of all numbers "
            f"({cell} {cells} of runs.jsonl)."
        )
    yield from _of_wrong_ends(evidence.runs)
    if evidence.short:
        runs, steps = evidence.short.runs, evidence.short.regime["steps"]
        after = f"After {grouped(steps_of(runs, 'budget.short', steps))} steps"
        yield from (f"{after}: {caveat}" for caveat in _of_wrong_ends(runs))
    yield from _of_plan(evidence, waiting)
    versions = {tuple(sorted(run["versions"].items())) for run in evidence.runs if run["versions"]}
    if len(versions) > 1:
        yield "The runs used different versions of some packages."
    yield from _of_code(evidence)


def _of_code(evidence: Evidence) -> Iterator[str]:
    """Yield a caveat on arms whose runs, or whose tuning runs, were made with different code, and
    on arms with runs of several sweeps that do not record their code.
    """
    arms = [*by_label(evidence.runs).items(), *by_label(evidence.screening).items()]
    mixed = dict.fromkeys(quoted(label) for label, runs in arms if differ_in_code(runs))
    if mixed:
        yield (
            "Runs of the same arm were made with different code, libraries, initial weights, data "
            f"or devices ({listed([*mixed])}). So the differences between these runs are more than "
            "run-to-run variation."
        )
    older = [[run for run in runs if "code" not in run] for _, runs in arms]
    if any(len({run.get("replicate") for run in runs}) > 1 for runs in older):
        yield (
            "The runs of an arm come from several sweeps, and do not record whether they executed "
            "the same code."
        )


def _of_wrong_ends(runs: list[Run]) -> Iterator[str]:
    wrong = [run for run in runs if run["status"] in NOT_LEARNED]
    if wrong:
        arms = Counter(arm_label(run["levels"]) for run in wrong)
        counts = "; ".join(f"{count} with {quoted(arm)}" for arm, count in arms.items())
        yield (
            f"{counted(len(wrong), 'run')} diverged or collapsed ({counts}). Estimates use only "
            "the runs that learned the task. How often runs fail is a separate question, and so "
            "few runs answer it only roughly."
        )


def _of_plan(evidence: Evidence, waiting: Sequence[Claim]) -> Iterator[str]:
    """Yield a caveat on arms with fewer seeds than planned.

    The seeds may be missing, or an interim analysis may have made them unnecessary.
    """
    planned = evidence.study["seeds"]
    few: dict[int, list[str]] = {}
    levels: list[Levels] = []
    for arm, runs in by_label(evidence.runs).items():
        if (seeds := len(_seeds(runs))) < planned:
            few.setdefault(seeds, []).append(quoted(arm))
            levels.append(runs[0]["levels"])
    if not few or not evidence.study["claims"]:
        return
    staged = "asked" in evidence.registration and len(planned_looks(evidence.study)) > 1
    # without an undecided claim, which needs more seeds of one of these arms
    if staged and not any(arm in levels for arm in needed(evidence, waiting)):
        ends = [
            f"after {n} of {planned} seeds those with {listed(arms)}" for n, arms in few.items()
        ]
        yield (
            f"The planned interim analyses stopped some arms early: {', and '.join(ends)}. "
            "Each claim on these arms was decided by then, or its chance to be decided was below "
            f"{100 * FUTILE:.0f} %."
        )
        return
    ended = len(_seeds([run for run in evidence.runs if run["status"] != "failed"]))
    if ended < planned:
        yield f"Of {planned} planned seeds {ended} have finished."


def _seeds(runs: list[Run]) -> set[int]:
    return {run["seed"] for run in runs}


def about(claim: Entry, claims: list[Entry], caveats: list[str]) -> list[str]:
    """Return the caveats that apply to one claim, without the numbers of claims at their start.

    Args:
        claim: the claim.
        claims: all claims of the study.
        caveats: all caveats of the study.
    """
    number = str(number_of(claims)[name_of(claim)])
    return [
        SUBJECT.sub("", caveat, count=1) for caveat in caveats if _applies(caveat, claim, number)
    ]


def _applies(caveat: str, claim: Entry, number: str) -> bool:
    """Return whether a caveat is about this claim, or about all claims of the study."""
    if subject := SUBJECT.match(caveat):
        return number in re.findall(r"\d+", subject[1])
    if caveat.startswith(OF_HOLM):
        return bool(claim["p"])
    return "second" in claim["metric"] if caveat.startswith(OF_TIMES) else True

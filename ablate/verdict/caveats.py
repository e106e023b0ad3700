"""Find the caveats of a study, as data: a code, values, and the numbers of the claims.

ablate.words has the sentence of each code.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from statistics import mean
from typing import Any

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import planned_looks
from ablate.evidence.outcome import NOT_LEARNED, involves_chance, value
from ablate.evidence.table import by_label, differ_in_code, steps_of
from ablate.evidence.tuned import ordered, tried
from ablate.evidence.types import Caveat, Claim, Levels, Reason, Run, Values, reason
from ablate.phrases import name_of, number_of
from ablate.stats.ties import above
from ablate.verdict.budgets import WITHOUT
from ablate.verdict.claim_caveats import of_claim, of_sizes
from ablate.verdict.kind.base import Judged
from ablate.verdict.stages import needed

ENDS: dict[str, Callable[[list[Any]], Any]] = {"largest": max, "smallest": min}
IDLE = 0.2  # number of cores that other processes may use during a time measurement


def caveats(
    evidence: Evidence,
    judged: Sequence[Judged],
    waiting: Sequence[Claim],
    departed: Iterable[Reason],
) -> list[Caveat]:
    """Return all caveats of a study; caveats about the whole study come first.

    Args:
        evidence: the evidence of the study.
        judged: the claims.
        waiting: planned claims that lack the runs of an arm.
        departed: differences from the registered study.
    """
    whole = [
        *evidence.notes,
        *departed,
        *_of_study(evidence),
        *_of_waiting(len(judged) + len(waiting), len(waiting)),
        *_of_tuning(evidence),
        *_of_match(evidence),
    ]
    sizes = _merged(of_sizes, judged, evidence)
    runs = [*_of_machine(evidence), *_of_runs(evidence, waiting)]
    return [
        *(Caveat(**each, claims=[]) for each in whole),
        *sizes,
        *(Caveat(**each, claims=[]) for each in runs),
        *_of_claims(evidence, judged, waiting),
    ]


def _of_claims(
    evidence: Evidence, judged: Sequence[Judged], waiting: Sequence[Claim]
) -> Iterator[Caveat]:
    """Yield the caveats on single claims, and the one on the correction for several claims."""
    for rule in of_claim:
        yield from _merged(rule, judged, evidence)
    tested = [name_of(entry) for _, entry in judged if entry["p"]]
    family = len(tested) + sum(involves_chance(claim) for claim in waiting)
    if tested and family > 1:
        yield Caveat(**reason("holm", claims=family), claims=_numbers(tested, evidence))


def _merged(
    rule: Callable[..., Iterator[Reason]], judged: Sequence[Judged], evidence: Evidence
) -> Iterator[Caveat]:
    """Yield every reason that a rule gives once, with the numbers of the claims that it is about.

    `rule` gets a claim's result, its entry in verdict.json and the evidence.
    """
    reasons: list[Reason] = []
    names: list[list[str]] = []
    for finding, entry in judged:
        for each in rule(finding, entry, evidence):
            if each not in reasons:
                reasons.append(each)
                names.append([])
            names[reasons.index(each)].append(name_of(entry))
    for each, alike in zip(reasons, names, strict=True):
        yield Caveat(**each, claims=_numbers(alike, evidence))


def _numbers(names: Iterable[str], evidence: Evidence) -> list[int]:
    """Return the numbers of claims; [] if these are all claims of the study."""
    numbers = number_of(evidence.study["claims"])
    chosen = sorted({numbers[name] for name in names})
    return [] if len(chosen) == len(numbers) else chosen


def _of_study(evidence: Evidence) -> Iterator[Reason]:
    for fixed in evidence.study["fixed"]:
        yield reason("stated", text=fixed)
    if earlier := evidence.registration.get("earlier"):
        yield reason("plan_changed", times=len(earlier))


def _of_waiting(planned: int, waiting: int) -> Iterator[Reason]:
    if waiting:
        yield reason("claims_wait", planned=planned, waiting=waiting)


def _of_tuning(evidence: Evidence) -> Iterator[Reason]:
    """Yield the caveats on a tuned parameter.

    The best value may be the largest or the smallest of the values that were tried, it may have
    been tuned in a shorter training than that of the verdicts, or the seeds of an arm may have
    chosen different values.
    """
    tune = evidence.study.get("tune")
    if not tune:
        return
    arms = by_label([run for run in evidence.runs if "tuned" in run])
    grids = tried(evidence) if ordered(tune["values"]) else {}
    ends = {word: _at_end(arms, grids, end) for word, end in ENDS.items() if grids}
    if any(ends.values()):
        wider = {value for grid in grids.values() for value in grid} - {*tune["values"]}
        values = sorted({*tune["values"], *wider}) if wider else [*tune["values"]]
        yield reason("best_at_end", key=tune["key"], values=values, **ends)
    if evidence.short:
        short, steps = (
            steps_of(every.runs, factor, every.regime["steps"])
            for every, factor in ((evidence.short, "budget.short"), (evidence, "budget.steps"))
        )
        yield reason("tuned_short", key=tune["key"], short=short, steps=steps)
    yield from _of_tuned_values(evidence, tune["key"], arms)


def _of_tuned_values(
    evidence: Evidence, tuned_key: str, arms: dict[str, list[Run]]
) -> Iterator[Reason]:
    """Yield a caveat if the seeds of an arm chose different values, and the mean results of these
    values differ by more than the margin of a claim.

    `arms` has the tuned runs by the label of their arm.
    """
    margins: dict[str, float] = {}
    for claim in evidence.study["claims"]:
        if claim["margin"] and claim["kind"] not in WITHOUT:
            margins[claim["metric"]] = min(claim["margin"], margins.get(claim["metric"], math.inf))
    for metric, margin in margins.items():
        apart = {arm: _means_by_value(runs, metric) for arm, runs in arms.items()}
        wide = {arm: means for arm, means in apart.items() if _are_apart(means, margin)}
        if wide:
            yield reason("tuned_apart", key=tuned_key, metric=metric, arms=wide)


def _means_by_value(runs: list[Run], metric: str) -> list[Values]:
    """Return the mean of a metric for each tuned value that at least two runs have. Runs that
    learned nothing are left out.
    """
    results: dict[Any, list[float]] = {}
    for run in (run for run in runs if run["status"] == "finished"):
        with suppress(KeyError):  # the run lacks the metric, or its value is not finite
            results.setdefault(run["tuned"]["value"], []).append(value(run, metric))
    several = {x: scores for x, scores in results.items() if len(scores) > 1}
    return [
        {"value": x, "mean": mean(scores), "runs": len(scores)}
        for x, scores in sorted(several.items())
    ]


def _are_apart(means: list[Values], margin: float) -> bool:
    """Return whether the largest and the smallest mean differ by more than the margin."""
    scores = [each["mean"] for each in means]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return above(high - low, margin, max(-low, high))


def _at_end(
    arms: dict[str, list[Run]], grids: dict[int, list[Any]], end: Callable[[list[Any]], Any]
) -> dict[str, list[int]]:
    """Return, for each arm in which runs chose the largest (or smallest) tried value, the number of
    these runs and of all runs.

    Args:
        arms: the tuned runs by the label of their arm.
        grids: the values that each run tried, by cell number.
        end: `max` or `min`.
    """
    counts = {
        arm: sum(run["tuned"]["value"] == end(grids[run["cell"]]) for run in runs)
        for arm, runs in arms.items()
    }
    return {arm: [count, len(arms[arm])] for arm, count in counts.items() if count}


def _of_match(evidence: Evidence) -> Iterator[Reason]:
    """Yield the settings that were adjusted to make all arms equal in cost, if any were."""
    if match := evidence.study.get("match"):
        arms = by_label([run for run in evidence.runs if "matched" in run]).items()
        settings = {arm: runs[0]["matched"] for arm, runs in arms}
        yield reason("matched", by=match["by"], to=dict(match["to"]), arms=settings)


def _of_machine(evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat if other processes were running during time measurements."""
    busy_cores = (run["metrics"].get("probe/others") for run in evidence.runs)
    busy = max((cores for cores in busy_cores if cores is not None), default=0.0)
    if busy > IDLE:
        yield reason("busy_machine", cores=busy)


def _of_runs(evidence: Evidence, waiting: Sequence[Claim]) -> Iterator[Reason]:
    failed = [run["cell"] for run in evidence.runs if run["status"] == "failed"]
    if failed:
        yield reason("runs_failed", cells=failed)
    if not evidence.is_table:
        yield from _of_wrong_ends(evidence.runs)
    if evidence.short:
        runs, steps = evidence.short.runs, evidence.short.regime["steps"]
        yield from _of_wrong_ends(runs, steps=steps_of(runs, "budget.short", steps))
    yield from _of_plan(evidence, waiting)
    versions = {tuple(sorted(run["versions"].items())) for run in evidence.runs if run["versions"]}
    if len(versions) > 1:
        yield reason("versions_differ")
    yield from _of_code(evidence)


def _of_code(evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat on arms whose runs, or whose tuning runs, were made with different code, and
    on arms with runs of several sweeps that do not record their code.
    """
    arms = [*by_label(evidence.runs).items(), *by_label(evidence.screening).items()]
    if mixed := dict.fromkeys(label for label, runs in arms if differ_in_code(runs)):
        yield reason("code_differs", arms=[*mixed])
    older = [[run for run in runs if "code" not in run] for _, runs in arms]
    if any(len({run.get("replicate") for run in runs}) > 1 for runs in older):
        yield reason("code_unknown")


def _of_wrong_ends(runs: list[Run], **at: object) -> Iterator[Reason]:
    wrong = Counter(arm_label(run["levels"]) for run in runs if run["status"] in NOT_LEARNED)
    if wrong:
        yield reason("runs_went_wrong", arms=dict(wrong), **at)


def _of_plan(evidence: Evidence, waiting: Sequence[Claim]) -> Iterator[Reason]:
    """Yield a caveat on arms with fewer seeds than planned.

    The seeds may be missing, or an interim analysis may have made them unnecessary.
    """
    planned = evidence.study["seeds"]
    few: dict[str, int] = {}
    levels: list[Levels] = []
    for arm, runs in by_label(evidence.runs).items():
        if (seeds := len(_seeds(runs))) < planned:
            few[arm] = seeds
            levels.append(runs[0]["levels"])
    if not few or not evidence.study["claims"]:
        return
    staged = "asked" in evidence.registration and len(planned_looks(evidence.study)) > 1
    # without an undecided claim, which needs more seeds of one of these arms
    if staged and not any(arm in levels for arm in needed(evidence, waiting)):
        yield reason("stopped_early", planned=planned, arms=few)
        return
    ended = len(_seeds([run for run in evidence.runs if run["status"] != "failed"]))
    if ended < planned:
        yield reason("seeds_missing", planned=planned, ended=ended)


def _seeds(runs: list[Run]) -> set[int]:
    return {run["seed"] for run in runs}

"""Find the caveats of a study, as data: a code, values, and the numbers of the claims.

Nothing is judged here: every caveat follows from the runs, or from what the judgement has stored
with a claim. ablate.words has the sentence of each code.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np

from ablate.config.labels import arm_label
from ablate.config.screen import FACTOR
from ablate.config.study import Claim, Levels
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import RATE
from ablate.evidence.outcome import (
    NOT_LEARNED,
    Caveat,
    Reason,
    Run,
    by_label,
    differ_in_code,
    involves_chance,
    reason,
    value,
)
from ablate.evidence.registration import has_order, planned_looks, shared_seeds, tried_values
from ablate.phrases import claim_name, number_of
from ablate.stats import difference
from ablate.stats.corrections import TUNED_ONCE, is_visible, skewness
from ablate.verdict.judge import JudgedClaim
from ablate.verdict.sides import pairs, steps_of, values_of
from ablate.verdict.types import COMBINATIONS, SUPPORTED

IDLE = 0.2  # number of cores that other processes may use during a time measurement
ALIKE = 0.01  # largest relative difference in parameters of arms that count as matched
Rule = Callable[[JudgedClaim, Evidence], Iterator[Reason]]  # yields the caveats on a claim
# the order of the caveats on claims; all others come first
CODES = (
    *("seeds_unpaired", "failures_left_out", "trend_reverses", "no_spread", "runs_older"),
    *("rates_untuned", "noise", "seeds_only", "asked_before", "interim", "other_settings"),
)
PLACES = {code: place for place, code in enumerate(CODES)}


def caveats(
    evidence: Evidence,
    judged: Sequence[JudgedClaim],
    waiting: Sequence[Claim],
    departed: Iterable[Reason],
    open_arms: Sequence[Levels],
) -> list[Caveat]:
    """Return all caveats of a study; caveats about the whole study come first.

    Args:
        evidence: the evidence of the study.
        judged: the claims.
        waiting: planned claims that lack the runs of an arm.
        departed: differences from the registered study.
        open_arms: levels of the arms of undecided claims that more seeds may decide.
    """
    whole = [*evidence.notes, *departed, *_of_study(evidence, len(judged), len(waiting))]
    runs = [*_of_runs(evidence, judged), *_of_plan(evidence, open_arms), *_of_code(evidence)]
    return [
        *(Caveat(**each, claims=[]) for each in whole),
        *_merged(_of_sizes, judged, evidence),
        *(Caveat(**each, claims=[]) for each in runs),
        *_merged(_of_effects, judged, evidence),
        *sorted(_merged(_of_claim, judged, evidence), key=lambda x: PLACES.get(x["code"], -1)),
        *_of_correction(evidence, judged, waiting),
    ]


def _merged(rule: Rule, judged: Sequence[JudgedClaim], evidence: Evidence) -> Iterator[Caveat]:
    """Yield every reason that a rule gives once, with the numbers of the claims it is about."""
    merged: dict[str, tuple[Reason, list[str]]] = {}
    for claim in judged:
        for each in rule(claim, evidence):
            text = json.dumps(each, sort_keys=True, default=str)
            merged.setdefault(text, (each, []))[1].append(claim_name(claim.entry))
    for each, names in merged.values():
        yield Caveat(**each, claims=_numbers(names, evidence))


def _numbers(names: Iterable[str], evidence: Evidence) -> list[int]:
    """Return the numbers of claims; [] if these are all claims of the study."""
    numbers = number_of(evidence.study["claims"])
    chosen = sorted({numbers[name] for name in names})
    return [] if len(chosen) == len(numbers) else chosen


def _of_correction(
    evidence: Evidence, judged: Sequence[JudgedClaim], waiting: Sequence[Claim]
) -> Iterator[Caveat]:
    tested = [claim_name(claim.entry) for claim in judged if claim.entry["p"]]
    family = len(tested) + sum(involves_chance(claim) for claim in waiting)
    if tested and family > 1:
        yield Caveat(**reason("holm", claims=family), claims=_numbers(tested, evidence))


def _of_study(evidence: Evidence, judged: int, waiting: int) -> Iterator[Reason]:
    """Yield the caveats on the whole study; `judged` and `waiting` are numbers of claims."""
    for fixed in evidence.study["fixed"]:
        yield reason("stated", text=fixed)
    if earlier := evidence.registration.get("earlier"):
        yield reason("plan_changed", times=len(earlier))
    if waiting:
        yield reason("claims_wait", planned=judged + waiting, waiting=waiting)
    yield from of_rates(evidence.study, {run["rate"] for run in evidence.runs if "rate" in run})
    if evidence.study.get("tune"):
        yield from _of_tuning(evidence)
    if match := evidence.study.get("match"):
        arms = by_label([run for run in evidence.runs if "matched" in run]).items()
        settings = {arm: runs[0]["matched"] for arm, runs in arms}
        yield reason("matched", by=match["by"], to=dict(match["to"]), arms=settings)


def of_rates(study: Mapping[str, Any], rates: set[float]) -> Iterator[Reason]:
    """Yield a caveat on learning rates that a study neither tunes nor compares."""
    if rates and not study.get("tune") and RATE not in study["factors"] and not study.get("design"):
        yield reason("not_tuned", rates=sorted(rates))


def _of_tuning(evidence: Evidence) -> Iterator[Reason]:
    """Yield the caveats on a tuned parameter.

    All seeds of an arm may have one value, because fewer seeds were used to tune it. The best value
    may be the largest or the smallest of the values that were tried, or it may have been tuned in a
    shorter training than that of the verdicts.
    """
    tune = evidence.study["tune"]
    assert tune is not None
    tuning, seeds = (len({x["seed"] for x in runs}) for runs in (evidence.screening, evidence.runs))
    if 0 < tuning < seeds:
        rate = TUNED_ONCE[min((n for n in TUNED_ONCE if n >= seeds), default=max(TUNED_ONCE))]
        yield reason("tuned_once", key=tune["key"], tuning=tuning, seeds=seeds, rate=rate)
    arms = by_label([run for run in evidence.runs if "tuned" in run])
    grids = tried_values(evidence) if has_order(tune["values"]) and len(tune["values"]) > 1 else {}
    ends = {word: _at_end(arms, grids, end) for word, end in (("largest", max), ("smallest", min))}
    if any(ends.values()):
        values = sorted({*tune["values"], *(x for grid in grids.values() for x in grid)})
        yield reason("best_at_end", key=tune["key"], values=values, **ends)
    if evidence.short:
        short, steps = (
            steps_of(every.runs, factor, every.regime["steps"])
            for every, factor in ((evidence.short, "budget.short"), (evidence, "budget.steps"))
        )
        yield reason("tuned_short", key=tune["key"], short=short, steps=steps)


def _at_end(
    arms: Mapping[str, list[Run]], grids: Mapping[int, list[Any]], end: Callable[[list[Any]], Any]
) -> dict[str, list[int]]:
    """Return, for each arm in which runs chose the largest (or smallest) tried value, the number of
    these runs and of all runs.

    Args:
        arms: the tuned runs by the label of their arm.
        grids: the values that each run tried, by cell number; {} if they have no order.
        end: `max` or `min`.
    """
    counts = {
        arm: sum(run["tuned"]["value"] == end(grids[run["cell"]]) for run in runs)
        for arm, runs in (arms.items() if grids else ())
    }
    return {arm: [count, len(arms[arm])] for arm, count in counts.items() if count}


def _of_runs(evidence: Evidence, judged: Sequence[JudgedClaim]) -> Iterator[Reason]:
    """Yield the caveats on runs that failed, and on measurements on a busy machine.

    Runs that failed to learn are left out if a claim on their arm already states their number.
    """
    busy = max((run["metrics"].get("probe/others") or 0.0 for run in evidence.runs), default=0.0)
    if busy > IDLE:
        yield reason("busy_machine", cores=busy)
    if failed := [run["cell"] for run in evidence.runs if run["status"] == "failed"]:
        yield reason("runs_failed", cells=failed)
    yield from _of_early_stopping(evidence)
    if not evidence.is_table:
        failures = (claim.entry.get("failed_to_learn", {}).items() for claim in judged)
        counted = {arm for of_claim in failures for arm, count in of_claim if count["runs"]}
        runs = [run for run in evidence.runs if arm_label(run["levels"]) not in counted]
        yield from _unlearned("runs_went_wrong", runs, evidence)
    if evidence.short:
        runs, steps = evidence.short.runs, evidence.short.regime["steps"]
        steps_of_runs = steps_of(runs, "budget.short", steps)
        yield from _unlearned("short_runs_went_wrong", runs, evidence, steps=steps_of_runs)


def _of_early_stopping(evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat with the steps of the shortest run of each arm, if early stopping ended runs.
    Screens and recipes are left out, because a variant may set its own number of steps.
    """
    study, fewest = evidence.study, dict[str, int]()
    for run in () if FACTOR in study["factors"] or study.get("design") else evidence.runs:
        planned: Any = run["levels"].get("budget.steps", evidence.regime.get("steps"))
        steps, arm = int(run["metrics"].get("steps") or 0), arm_label(run["levels"])
        if run["status"] == "finished" and 0 < steps < (planned or 0):
            fewest[arm] = min(steps, fewest.get(arm, steps))
    if fewest:
        yield reason("trained_short", arms=fewest)


def _unlearned(code: str, runs: list[Run], evidence: Evidence, **values: Any) -> Iterator[Reason]:
    """Yield a caveat with the number of runs of each arm that diverged or collapsed, if any did."""
    wrong = [run for run in runs if run["status"] in NOT_LEARNED]
    recipes = evidence.study.get("design")  # the names of all their levels would fill a page
    if names := [f"seed {r['seed']}" if recipes else arm_label(r["levels"]) for r in wrong]:
        yield reason(code, arms=dict(Counter(names)), **values)


def _of_plan(evidence: Evidence, open_arms: Sequence[Levels]) -> Iterator[Reason]:
    """Yield a caveat on arms with fewer seeds than planned.

    The seeds may be missing, or an interim analysis may have made them unnecessary.
    """
    planned, arms = evidence.study["seeds"], by_label(evidence.runs)
    seeds = {arm: len({run["seed"] for run in runs}) for arm, runs in arms.items()}
    few = {arm: n for arm, n in seeds.items() if n < planned}
    if not few or not evidence.study["claims"]:
        return
    staged = "asked" in evidence.registration and len(planned_looks(evidence.study)) > 1
    if staged and not any(arms[arm][0]["levels"] in open_arms for arm in few):
        yield reason("stopped_early", planned=planned, arms=few)
        return
    done = ((x["levels"], x["seed"]) for x in evidence.runs if x["status"] != "failed")
    ended = len(shared_seeds(done, evidence.study))
    if ended < planned:
        yield reason("seeds_missing", planned=planned, ended=ended)


def _of_code(evidence: Evidence) -> Iterator[Reason]:
    """Yield the caveats on different packages, processors and code, also of tuning runs, and on
    arms with runs of several sweeps that do not record their code.
    """
    versions = {pair for run in evidence.runs for pair in run["versions"].items()}
    counts = Counter(package for package, _ in sorted(versions))
    if mixed := [package for package, n in counts.items() if n > 1]:
        yield reason("versions_differ", packages=mixed)
    yield from _of_processors(evidence)
    arms = [*by_label(evidence.runs).items(), *by_label(evidence.screening).items()]
    if apart := dict.fromkeys(label for label, runs in arms if differ_in_code(runs)):
        yield reason("code_differs", arms=[*apart])
    older = [[run for run in runs if "code" not in run] for _, runs in arms]
    if any(len({run.get("replicate") for run in runs}) > 1 for runs in older):
        yield reason("code_unknown")


def _of_processors(evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat if the arms have different proportions of their runs on a processor. It names
    the two arms that differ most.

    A GPU of another kind counts as a difference in code, and exact claims need no equal processors.
    """
    asked = any(map(involves_chance, evidence.study["claims"]))
    if not asked or evidence.regime.get("device", "cpu") != "cpu":
        return
    arms = {arm: Counter(map(_processor, runs)) for arm, runs in by_label(evidence.runs).items()}
    widest = (0.0, "", [*arms])
    for name in sorted({name for counts in arms.values() for name in counts}):
        parts = {arm: counts[name] / counts.total() for arm, counts in arms.items()}
        ends = [end(parts, key=parts.__getitem__) for end in (min, max)]
        widest = max(widest, (parts[ends[1]] - parts[ends[0]], name, ends))
    gap, processor, apart = widest
    if gap and not any("" in counts for counts in arms.values()):
        counts = {arm: [arms[arm][processor], arms[arm].total()] for arm in apart}
        yield reason("processors_differ", processor=processor, arms=counts)


def _processor(run: Run) -> str:
    """Return the processor of a run, with the instruction set if it is known; "" if unknown."""
    words = (run.get("processor", ""), run.get("instructions", ""))
    return " with ".join(filter(None, words)) if words[0] else ""


def _of_effects(claim: JudgedClaim, evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat if the effect of a claim differs between processors, by an F test at alpha
    divided by the number of claims: then seeds on one processor are not independent.
    """
    paired, groups = claim.finding.paired, dict[str, list[float]]()
    if paired is None or evidence.regime.get("device", "cpu") != "cpu":
        return
    for seed, effect in zip(paired.seeds, paired.differences.tolist(), strict=True):
        names = {_processor(run) for side in paired.sides for run in side.runs[seed]}
        if len(names) == 1:
            groups.setdefault(names.pop(), []).append(effect)
    means = {name: round(mean(x), 6) for name, x in groups.items() if name and len(x) > 1}
    if len(means) > 1:
        from scipy.stats import f_oneway  # takes half a second

        p = float(f_oneway(*(groups[name] for name in means)).pvalue)
        if p <= claim.finding.claim["alpha"] / len(evidence.study["claims"]):
            yield reason("effect_by_processor", effects=means, p=p)


def _of_sizes(claim: JudgedClaim, evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat if compared arms have different numbers of trained parameters."""
    finding = claim.finding
    if finding.problem:
        return
    names = {runs[0]["arm"]: label for label, runs in by_label(evidence.runs).items()}
    step = 1 if finding.claim["kind"] == "trend" else 2  # a trend compares neighbouring levels
    arms = zip(finding.sides[::step], finding.sides[1::step], strict=False)
    sizes: dict[str, int] = {}
    for pair in (pair for first, second in arms for pair in pairs(first, second)):
        small, large = sorted(map(_size, pair))
        if small and large / small - 1 > ALIKE:
            sizes |= {names[run["arm"]]: _size(run) for run in pair}
    if sizes:
        yield reason("sizes_differ", arms=sizes)


def _size(run: Run) -> int:
    return int(run["metrics"].get("parameters") or 0)


def _of_missing_runs(claim: JudgedClaim) -> Iterator[Reason]:
    """Yield the caveats on seeds without a pair of runs, and on runs that failed to learn."""
    entry, table = claim.entry, "design" in claim.entry
    if claim.finding.paired and (seeds := claim.finding.paired.unpaired):
        # the numbers of pairs of a table mean nothing to a reader
        pairs_of_table = reason("pairs_incomplete", pairs=len(seeds))
        yield pairs_of_table if table else reason("seeds_unpaired", seeds=seeds)
    counts = {arm: [n["runs"], n["of"]] for arm, n in entry.get("failed_to_learn", {}).items()}
    failed = any(n for n, _ in counts.values()) and (table or entry["method"] != COMBINATIONS)
    if failed and not entry.get("decided_by_failures") and entry["effect"] is not None:
        yield reason("without_value" if table else "failures_left_out", arms=counts)


def _of_table(claim: JudgedClaim) -> Iterator[Reason]:
    """Yield caveats on the runs of the arms of a table, such as arms that look skewed, or whose
    runs all have the same value.
    """
    finding, entry = claim.finding, claim.entry
    doubts: Any = finding.claim.get("doubts", [])
    yield from doubts
    if "design" not in entry or entry["kind"] in ("trend", "stability", "exact"):
        return
    for side in finding.sides:
        values, arm = values_of(side, entry["metric"]), arm_label(side.levels)
        if len(values) > 2 and is_visible(skewness(values), len(values)):
            yield reason("arm_skewed", arm=arm)
        if len(values) > 1 and not np.ptp(values):
            yield reason("arm_constant", arm=arm, runs=len(values))


def _of_trend(claim: JudgedClaim) -> Iterator[Reason]:
    """Yield a caveat for neighbouring levels of a trend between which the mean changes in the
    opposite direction of the slope.
    """
    entry, paired, slope = claim.entry, claim.finding.paired, claim.entry["effect"]
    if entry["kind"] != "trend" or entry["minus"] or paired is None or slope is None:
        return
    metric, sign = entry["metric"], -1 if entry["better"] == "lower" else 1
    means = [
        (side.levels, mean(value(run, metric) for seed in paired.seeds for run in side.runs[seed]))
        for side in paired.sides
    ]
    for (first, before), (second, after) in pairwise(means):
        change = difference(after, before)
        if sign * change * slope < 0:
            values = {"metric": metric, "measures": entry.get("measures", "")}
            yield reason("trend_reverses", **values, **{"from": first, "to": second}, change=change)


def _of_claim(claim: JudgedClaim, evidence: Evidence) -> Iterator[Reason]:
    """Yield the caveats on a claim, for example on missing runs, on a control that shows no loss,
    and on its history in the analysis log (earlier sweeps with the same question, other settings).
    """
    yield from _of_missing_runs(claim)
    yield from _of_table(claim)
    yield from _of_trend(claim)
    entry, control = claim.entry, claim.entry.get("control")
    if entry["method"] == "sign test":
        yield reason("no_spread", pairs=entry["pairs"])
    if older := entry["older_cells"]:
        yield reason("runs_older", runs=older, exploratory=claim.seen_before)
    if control and not control["loses"] and entry["verdict"] == SUPPORTED:
        low, high = control["interval"]
        yield reason("loss_not_shown", control=control["arm"], low=low, high=high)
    if claim.untuned:
        yield reason("rates_untuned", rates=claim.untuned)
    if claim.noise:
        yield claim.noise
    recipes_alone = entry["method"] == COMBINATIONS and entry["noise"] == ["runs"]
    alone = (entry["noise"] == ["seeds"] or recipes_alone) and not evidence.is_table
    if entry["p"] and alone and entry["interval"]:
        task = evidence.registration.get("components", {}).get("task", "")
        yield reason("seeds_only", task=task)
    yield from (reason("asked_before", reason=attempt) for attempt in claim.history["tried"])
    if shares := claim.entry.get("information"):
        yield reason("interim", analysis=len(shares), share=shares[-1])
    if settings := claim.history["regimes"]:
        yield reason("other_settings", settings=settings)

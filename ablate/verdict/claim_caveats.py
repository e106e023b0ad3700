"""Find the caveats on single claims, as data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any

import numpy as np

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.table import by_label
from ablate.evidence.types import Entry, Reason, Run, Values, reason
from ablate.stats.skew import is_visible, skewness
from ablate.verdict.contrast import asked_of
from ablate.verdict.independent import values_of
from ablate.verdict.judge import seen_noise
from ablate.verdict.kind.base import Finding
from ablate.verdict.settings import untuned_rates
from ablate.verdict.sides import pairs

ALIKE = 0.01  # largest relative difference in parameters of arms that count as matched
Rule = Callable[[Finding, Entry, Evidence], Iterator[Reason]]  # yields the caveats on a claim


def of_sizes(finding: Finding, _: Entry, evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat if compared arms have different numbers of trained parameters."""
    if finding.problem:
        return
    names = {runs[0]["arm"]: label for label, runs in by_label(evidence.runs).items()}
    step = 1 if finding.claim["kind"] == "trend" else 2  # a trend compares neighbouring levels
    arms = zip(finding.sides[::step], finding.sides[1::step], strict=False)
    compared = (sorted(pair, key=_size) for first, second in arms for pair in pairs(first, second))
    sizes: list[Values] = []
    for each in (_sizes(pair, names) for pair in compared):
        if each and each not in sizes:
            sizes.append(each)
    if sizes:
        yield reason("sizes_differ", arms=sizes)


def _sizes(pair: Sequence[Run], names: Mapping[str, str]) -> Values:
    """Return the larger and the smaller number of parameters, each with the name of its arm; {} if
    the numbers are nearly equal.
    """
    small, large = pair
    more = _size(large) / _size(small) - 1 if _size(small) else 0.0
    if more <= ALIKE:
        return {}
    return {
        "larger": [names[large["arm"]], _size(large)],
        "smaller": [names[small["arm"]], _size(small)],
    }


def _size(run: Run) -> int:
    return int(run["metrics"].get("parameters") or 0)


def _of_seeds(finding: Finding, _: Entry, __: Evidence) -> Iterator[Reason]:
    if finding.paired and finding.paired.unpaired:
        seeds = finding.paired.unpaired
        if "design" in finding.claim:  # the numbers of pairs mean nothing to a reader
            yield reason("pairs_incomplete", pairs=len(seeds))
        else:
            yield reason("seeds_unpaired", seeds=seeds)


def _of_failures(_: Finding, entry: Entry, __: Evidence) -> Iterator[Reason]:
    counts = {arm: [n["runs"], n["of"]] for arm, n in entry.get("failed_to_learn", {}).items()}
    failed = any(runs for runs, _ in counts.values())
    if failed and not entry.get("decided_by_failures") and entry["effect"] is not None:
        code = "without_value" if "design" in entry else "failures_left_out"
        yield reason(code, arms=counts)


def _of_turns(finding: Finding, entry: Entry, _: Evidence) -> Iterator[Reason]:
    """Yield a caveat for neighbouring levels of a trend between which the mean changes in the
    opposite direction of the slope.
    """
    claim, paired, slope = finding.claim, finding.paired, entry["effect"]
    if claim["kind"] != "trend" or claim["minus"] or paired is None or slope is None:
        return
    means = [
        mean(value(run, claim["metric"]) for seed in paired.seeds for run in side.runs[seed])
        for side in paired.sides
    ]
    sign = -1 if claim["better"] == "lower" else 1
    for (first, before), (second, after) in pairwise(zip(paired.sides, means, strict=True)):
        if sign * (after - before) * slope < 0:
            yield reason(
                "trend_reverses",
                metric=claim["metric"],
                measures=claim.get("measures", ""),
                change=after - before,
                **{"from": first.levels, "to": second.levels},
            )


def _of_ties(_: Finding, entry: Entry, __: Evidence) -> Iterator[Reason]:
    if entry["method"] == "sign test":
        yield reason("no_spread", pairs=entry["pairs"])


def _of_age(_: Finding, entry: Entry, __: Evidence) -> Iterator[Reason]:
    """Yield a caveat on a claim with runs that were made before the study was registered."""
    if older := entry["older_cells"]:
        yield reason("runs_older", runs=older, exploratory=entry["exploratory"])


def _of_rates(finding: Finding, _: Entry, evidence: Evidence) -> Iterator[Reason]:
    """Yield a caveat on a claim whose arms have learning rates that were not tuned in both."""
    if rates := untuned_rates(finding.claim, finding.sides, evidence):
        yield reason("rates_untuned", rates=rates)


def _of_arms(finding: Finding, entry: Entry, _: Evidence) -> Iterator[Reason]:
    """Yield caveats on the runs of the arms of a table, such as arms that look skewed, or whose
    runs all have the same value.
    """
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


def _of_noise(finding: Finding, _: Entry, __: Evidence) -> Iterator[Reason]:
    """Yield a caveat on a claim whose test errs more often in simulations than alpha allows.

    The cause is the distribution of the paired differences, such as a skewed one.
    """
    if noise := seen_noise(finding):
        yield reason("noise", **noise._asdict())


def _of_interval(_: Finding, entry: Entry, evidence: Evidence) -> Iterator[Reason]:
    if entry["p"] and entry["noise"] == ["seeds"] and entry["interval"] and "design" not in entry:
        task = evidence.registration.get("components", {}).get("task", "")
        yield reason("seeds_only", task=task)


def _of_log(_: Finding, entry: Entry, evidence: Evidence) -> Iterator[Reason]:
    """Yield caveats from the history of a claim in the analysis log.

    The log has the interim analyses, earlier sweeps that asked the same question, and other
    settings (data, size, budget) in which the question was asked.
    """
    asked = asked_of(entry, evidence)
    for attempt in asked["tried"]:
        yield reason("asked_before", reason=attempt)
    if shares := entry.get("information"):
        yield reason("interim", analysis=len(shares), share=shares[-1])
    if settings := asked["regimes"]:
        yield reason("other_settings", settings=settings)


of_claim: tuple[Rule, ...] = (
    *(_of_seeds, _of_failures, _of_arms, _of_turns, _of_ties, _of_age, _of_rates),
    *(_of_noise, _of_interval, _of_log),
)

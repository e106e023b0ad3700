"""Select the runs that a claim compares: its arms, with the weight of each in the difference; and
estimate the effect if the runs are not paired.

The contrast is treatment minus baseline. For an interaction, the same difference at other levels is
subtracted. For a trend, the contrast is the sum over the levels of a factor with the weights of a
least-squares slope. Factors that the claim does not fix are averaged over, at the levels that all
arms have. The sign is chosen so that positive is better.

Runs of a table need no pairs. Two arms are then compared by Welch's test, an arm and a number by
the t test of one sample, and a trend is the least-squares slope over a numeric column. These are
the textbook's tests; the correction for skewness, which pairs have, must be asked for.
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ablate.config import is_below, place
from ablate.config.labels import arm_label
from ablate.config.screen import FACTOR
from ablate.config.study import Levels, Question, Study
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import Reason, Run, TableClaim, reason
from ablate.record.results import WITHOUT_EFFECT, key, say
from ablate.stats import means
from ablate.stats.means import MeanDifference

# keys of overrides that change no result, and the seed
BESIDE = (
    *(*WITHOUT_EFFECT, "seed", "without_runs", "part", "hydra", "experiment", "budget.seeds"),
    *("checkpoint.save_every", "trainer.devices", "trainer.enable_progress_bar"),
)
RATE = "lr"  # last part of the config key of a learning rate
Words = dict[str, list[str]]  # the values of each key
INDEPENDENT = ("unpaired", "one sample")  # designs of a table whose runs are not paired
LEAST_LEVELS = 2  # smallest number of values of the factor or the column of a trend
SCALES = {"linear": float, "log": math.log2, "log_log": math.log}


class ContrastError(UserError):
    """The error that is raised if the runs cannot form the difference that a claim is about.

    `reason` says why, as data.
    """

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Side:
    """An arm in the comparison of a claim: its weight, its levels, and its runs by seed.

    `weight` is the weight of the arm's mean in the effect, such as 1 and -1 for a difference. The
    runs of each seed are sorted by their levels, so that the runs of two arms at the same place of
    their lists form a pair. `recipes` has all runs of a study of combinations, and else none.
    """

    weight: float
    levels: Levels
    runs: dict[int, list[Run]]
    recipes: Sequence[Run] = ()

    @property
    def all_runs(self) -> list[Run]:
        """All runs of the arm, including failed runs."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def completed(self) -> list[Run]:
        """All runs of the arm that did not fail with an error."""
        return [run for run in self.all_runs if run["status"] != "failed"]


def sides(claim: Question, evidence: Evidence) -> list[Side]:
    """Return the arms that a claim compares.

    Their runs are restricted to the levels of other factors that all arms have. In a table of runs
    that other programs made, there are no other factors: each run of an arm counts.

    Raises:
        UserError: in a table, a run belongs to two arms, or a pair has two runs of an arm.
    """
    arms = [_side(*side, evidence) for side in _sides(claim, evidence)]
    if evidence.study.get("design"):  # recipes take the levels of other factors at random
        return [replace(arm, recipes=evidence.runs) for arm in arms]
    if not claim.get("design"):
        return _shared(arms)
    _check_disjoint(claim, arms, evidence)
    return arms


def _check_disjoint(claim: Question, arms: list[Side], evidence: Evidence) -> None:
    """Check that no run of a table belongs to two arms, and that no pair has two runs of an arm."""
    cells = [{run["cell"] for run in side.all_runs} for side in arms]
    if len(set.union(*cells)) < sum(map(len, cells)):
        raise UserError(f"{claim['id']}: a run belongs to two arms of the claim")
    for side in arms:
        count = sum(has(run, side.levels) for run in evidence.runs)
        if claim.get("design") == "paired" and count > len(side.runs):
            raise UserError(
                f"{claim['id']}: a pair has several runs of {say(side.levels)}, but may have only "
                "one; set group, or leave pair out"
            )


def complete_seeds(sides: list[Side]) -> set[int]:
    """Return the seeds for which every arm has runs, none of which failed with an error."""
    shared = set.intersection(*(set(side.runs) for side in sides)) if sides else set()
    return shared - {run["seed"] for s in sides for run in s.all_runs if run["status"] == "failed"}


def pairs(first: Side, second: Side) -> Iterator[tuple[Run, Run]]:
    """Yield the pairs of runs of two arms, ordered by seed.

    The runs of a pair have the same seed, and the same levels of all factors that neither arm
    fixes. A run without such a partner is left out.
    """
    fixed = first.levels.keys() | second.levels.keys()
    for seed in sorted(first.runs.keys() & second.runs.keys()):
        partners = {_free(run, fixed): run for run in second.runs[seed]}
        for run in first.runs[seed]:
            if partner := partners.get(_free(run, fixed)):
                yield run, partner


def has(run: Run, levels: Levels) -> bool:
    """Return whether the arm of a run has these levels."""
    return run["levels"].items() >= levels.items()


def _sides(claim: Question, evidence: Evidence) -> list[tuple[float, Levels]]:
    """Return weight and levels of each arm, including the arms that an interaction subtracts.

    An exact claim that names no arms has a single side, with all runs that it is about. So has a
    claim that compares an arm with a number, and a trend over runs that are not paired.
    """
    sign = 1.0 if claim["better"] == "higher" else -1.0
    if claim["kind"] == "trend" and claim.get("design") not in INDEPENDENT:
        arms: list[tuple[float, Levels]] = [
            (w, {claim["over"]: v})
            for v, w in slope(claim, (run["levels"] for run in evidence.runs)).items()
        ]
    elif is_alone(claim):
        arms = [(1.0, claim["treatment"])]
    else:
        arms = [(1.0, claim["treatment"]), (-1.0, claim["baseline"])]
    sides = [(sign * weight, claim["where"] | arm) for weight, arm in arms]
    if not claim["minus"]:
        return sides
    return sides + [(-weight, levels | claim["minus"]) for weight, levels in sides]


def slope(claim: Question, arms: Iterable[Levels]) -> dict[int | float, float]:
    """Return the weight of each level in the least-squares slope over the levels of a factor.

    Args:
        claim: the claim, with the factor in `over`.
        arms: the levels of every arm.

    Raises:
        ContrastError: fewer than two levels are numbers, or a level has no logarithm.
    """
    where = claim["where"].items()
    values = (arm.get(claim["over"]) for arm in arms if arm.items() >= where)
    levels = sorted({x for x in values if isinstance(x, int | float) and not isinstance(x, bool)})
    if len(levels) < LEAST_LEVELS:
        raise ContrastError(
            f"{claim['over']} has fewer than two levels that are numbers: no trend",
            reason("too_few_levels", over=claim["over"]),
        )
    x = _scaled(levels, claim["scale"], claim["over"])
    centred = x - x.mean()
    return dict(zip(levels, (centred / (centred**2).sum()).tolist(), strict=True))


def _scaled(values: Sequence[float], scale: str, name: str) -> means.Values:
    """Return values of `name` on a scale.

    Raises:
        ContrastError: a value has no logarithm.
    """
    smallest = min(values, default=1.0)
    if scale != "linear" and smallest <= 0:
        why = reason("no_logarithm", over=name, level=smallest)
        raise ContrastError(f"{name}={smallest:g} has no logarithm: use scale=linear", why)
    return np.array([SCALES[scale](value) for value in values], dtype=np.float64)


def _side(weight: float, fixed: Levels, evidence: Evidence) -> Side:
    # in the order of the factors, so that an arm has one label everywhere
    levels = {x: fixed[x] for x in (*evidence.study["factors"], *fixed) if x in fixed}
    by_seed: dict[int, dict[str, Run]] = {}
    for run in evidence.runs:
        if has(run, levels):
            by_seed.setdefault(run["seed"], {})[key(run["levels"])] = run
    ordered = {seed: [runs[arm] for arm in sorted(runs)] for seed, runs in by_seed.items()}
    return Side(weight, levels, ordered)


def _shared(sides: list[Side]) -> list[Side]:
    """Return the arms with comparable runs only.

    The arms of a claim fix the levels (values) of some factors. For the factors that they leave
    free, a run is kept if every arm has runs with the same combination of levels.
    """
    fixed = {factor for side in sides for factor in side.levels}
    common = set.intersection(*({_free(run, fixed) for run in side.all_runs} for side in sides))
    return [
        replace(
            side,
            runs={
                seed: [run for run in runs if _free(run, fixed) in common]
                for seed, runs in side.runs.items()
            },
        )
        for side in sides
    ]


def _free(run: Run, fixed: Set[str]) -> str:
    """Return the levels of the factors that are not in `fixed`, as text."""
    return key({k: level for k, level in run["levels"].items() if k not in fixed})


def is_independent(claim: Mapping[str, object]) -> bool:
    """Return whether a claim is about runs that are not paired."""
    return claim.get("design") in INDEPENDENT


def effect_of(claim: TableClaim, arms: Sequence[Side]) -> MeanDifference:
    """Return the effect of a claim about runs that are not paired, positive if the treatment is
    better; NaN if an arm has no run with a value.

    Raises:
        ContrastError: a value of a trend has no logarithm.
    """
    if claim["kind"] == "trend":
        return _slope(claim, *arms)
    corrected = claim["test"] == "corrected"
    values, which = [values_of(arm, claim["metric"]) for arm in arms], "corrected " * corrected
    if (target := claim["target"]) is not None:
        scale = max(abs(target), means.largest(values[0]))
        effect = means.mean_of(arms[0].weight * (values[0] - target), f"{which}one sample", scale)
    else:
        method = which + ("Welch" if len(arms) == 2 else "contrast")
        effect = means.contrast(values, [arm.weight for arm in arms], method)
    return effect if corrected else replace(effect, skewness=None)


def problem_of(effect: MeanDifference, arms: Sequence[Side], claim: TableClaim) -> Reason | None:
    """Return the reason why an effect decides no claim; None if it can."""
    if not all(len(values_of(arm, claim["metric"])) for arm in arms):
        return reason("no_value")
    if math.isnan(effect.effect):
        return reason("too_few_levels", over=claim["over"])
    return None if effect.parts else reason("no_variation")


def values_of(arm: Side, metric: str) -> means.Values:
    """Return the results of the runs of an arm that have one, sorted, because a floating-point sum
    depends on the order.
    """
    finished: Any = [run["metrics"][metric] for run in arm.all_runs if run["status"] == "finished"]
    return np.sort(np.array(finished, dtype=np.float64))


def _slope(claim: TableClaim, arm: Side) -> MeanDifference:
    """Return the slope of the metric over the column of a trend, times the weight of the arm."""
    runs: Any = [run for run in arm.all_runs if run["status"] == "finished"]
    points = [(run["levels"][claim["over"]], run["metrics"][claim["metric"]]) for run in runs]
    points = sorted((level, result) for level, result in points if level is not None)
    of_results = "log_log" if claim["scale"] == "log_log" else "linear"
    x = _scaled([level for level, _ in points], claim["scale"], claim["over"])
    y = _scaled([result for _, result in points], of_results, claim["measures"])
    if len({*x}) < LEAST_LEVELS:
        return MeanDifference(math.nan, (), "least squares", (len(x),))
    return means.slope(x, arm.weight * y, "least squares")


def labels_of_arms(claim: Question) -> list[str]:
    """Return the labels of treatment and baseline; [] if the claim has no arms."""
    if is_alone(claim):
        return [say(claim["treatment"])] if claim["treatment"] else []
    return [say(claim["treatment"]), say(claim["baseline"])]


def is_alone(claim: Question) -> bool:
    """Return whether a claim compares its runs with a number, and with no other runs."""
    return not claim["treatment"] or claim.get("design") == "one sample"


def other_settings(arms: Sequence[Side], study: Study) -> dict[str, list[str]]:
    """Return the overrides by which the arms differ and that their labels do not name, as
    "key=value" by the label of the arm.

    The parameter that the study tunes is left out, because caveats describe its values.
    """
    if study.get("design"):  # recipes differ in the levels of all factors
        return {}
    tune: Mapping[str, object] = study.get("tune") or {}
    named = {*study["factors"], str(tune.get("key")), FACTOR}
    by_arm = [_overrides(side.all_runs, named) for side in arms]
    keys = dict.fromkeys(key for words in by_arm for key in words)
    differing = [key for key in keys if any(w.get(key) != by_arm[0].get(key) for w in by_arm)]
    return {
        arm_label(side.levels): settings
        for side, words in zip(arms, by_arm, strict=True)
        if (settings := [*_unnamed(side, words, differing)])
    }


def untuned_rates(claim: Question, arms: Sequence[Side], evidence: Evidence) -> list[str]:
    """Return the learning rates, as "key=value", that the treatment of a claim has and with which
    the baseline was never trained in this study.

    A part of the effect may then be the effect of the learning rate.
    """
    if evidence.study.get("design"):  # rates are a factor
        return []
    tuned: Mapping[str, object] = evidence.study.get("tune") or {}
    words = {
        run["cell"]: _overrides([run], {str(tuned.get("key")), FACTOR}) for run in evidence.runs
    }
    rates = {key for of_run in words.values() for key in of_run if key.rpartition(".")[2] == RATE}
    untuned: dict[str, None] = {}
    for treatment, baseline in zip(arms[::2], arms[1::2], strict=False):
        for name in sorted(rates) if claim["kind"] != "trend" else ():
            alike = [words[run["cell"]] | {name: []} for run in baseline.all_runs]
            trained = [x.get(name) for x in words.values() if x | {name: []} in alike]
            given = [words[run["cell"]].get(name) for run in treatment.all_runs]
            for values in (rate for rate in given if rate not in trained):
                rate = f"{name}={' or '.join(values)}" if values else f"the default of {name}"
                untuned[rate] = None
    return [*untuned]


def _overrides(runs: Iterable[Run], excluded_keys: set[str]) -> Words:
    """Return the values of the overrides of an arm's runs by key, without `excluded_keys`."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for word in words_of(run["command"]):
            key, equals, value = word.lstrip("+").partition("=")
            counts = key not in excluded_keys and not is_below(place(key), BESIDE)
            if counts and (equals or word.startswith("~")):
                values.setdefault(key, set()).add(value)
    return {key: sorted(of_key) for key, of_key in values.items()}


@cache
def words_of(command: str) -> list[str]:
    """Return the words of a command; [] if it is no command of a shell."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _unnamed(side: Side, words: Words, keys: Iterable[str]) -> Iterator[str]:
    """Yield the overrides of an arm that its label does not name.

    The name of a variant, such as gated_attention, names the option `gated` that it chooses.
    """
    variant = str(side.levels.get(FACTOR, ""))
    for name in (name for name in keys if name in words):
        chosen = "." not in name and all(value in variant for value in words[name])
        if not chosen:
            yield f"{name}={' or '.join(words[name])}" if any(words[name]) else name


def steps_of(runs: Iterable[Run], factor: str, steps: int) -> int | list[int]:
    """Return the number of training steps of runs; all numbers if it varies.

    Args:
        runs: the runs.
        factor: `budget.steps` or `budget.short`, which may be a factor of the study.
        steps: the number of steps if the key is no factor.
    """
    levels = [*dict.fromkeys(_steps(run, factor, steps) for run in runs)]
    return levels if len(levels) > 1 else next(iter(levels), steps)


def _steps(run: Run, factor: str, steps: int) -> Any:
    """Return the number of training steps of a run: the level of the factor, or else `steps`.

    A variant of a screen may set the number of steps itself, which no level shows. For a finished
    run of a screen, it is therefore the number of steps that the run recorded.
    """
    if FACTOR in run["levels"] and run["status"] == "finished":
        return int(run["metrics"].get("steps") or steps)
    return run["levels"].get(factor, steps)

"""Turn the design of a study of combinations into recipes, and check it before any run.

Every recipe takes a random level of every factor and trains with its own seed
(ablate.stats.combinations). A level sets several config keys or none. The first level of a factor
is the baseline.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from omegaconf import DictConfig, OmegaConf, read_write
from typing_extensions import TypedDict

from ablate.config.study import FactorLevels, RateGrid
from ablate.errors import UserError, name_hint
from ablate.stats.combinations.plan import Pair, Plan, Rate, draw, imbalance

DESIGN = "combinations"  # value of study.design
VARIANT = "variant"  # config key that names the recipe of a run
RATE = "rate"  # the factor of the learning rate
RUNS_PER_EFFECT = 5


class Combinations(TypedDict):
    """The design of a study of combinations."""

    recipes: int  # number of different recipes
    repeated: int  # number of recipes that run twice, which measures run-to-run variation
    drawn_with: int  # seed of the random plan
    levels: FactorLevels
    rate: RateGrid | None  # learning rates; null: all recipes have the rate of the config
    excluded: list[dict[str, str]]  # pairs of levels of two factors that no recipe has


class Recipe(NamedTuple):
    """A run of a plan.

    Attributes:
        name: name of the recipe, which its second run shares.
        levels: level of each factor; the level of `rate` is a number.
        overrides: config keys that the levels set.
        number: number of the recipe in the plan.
        seed: seed of the run.
        third: third of the study that trains the run, from 1 to 3.
    """

    name: str
    levels: dict[str, object]
    overrides: dict[str, object]
    number: int
    seed: int
    third: int


def rate_column(design: Combinations) -> Rate | None:
    """Return the column index of the learning rate, and the column index of the factor on which the
    learning rate depends; None if all recipes use the same learning rate.
    """
    rate = design["rate"]
    factors = [*design["levels"]]
    return None if rate is None else Rate(len(factors), factors.index(rate["by"]))


def plan_of(design: Combinations) -> Plan:
    """Return the plan of a design, which its seed determines.

    Raises:
        UserError: the design is impossible, or has too few runs for its effects.
    """
    check(design)
    size = design["recipes"], sizes(design), [*_excluded_pairs(design)], design["repeated"]
    try:
        plan = draw(*size, design["drawn_with"], rate_column(design))
    except ValueError as error:
        raise UserError(f"study.excluded: {error}; exclude fewer pairs") from None
    factors = plan.levels[:, : len(design["levels"])].T
    dummies = [column[:, None] == np.arange(1, column.max() + 1) for column in factors]
    columns = np.concatenate([np.ones((len(plan.levels), 1)), *dummies], 1)
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        raise UserError(
            "study.excluded: without these pairs some levels of two factors always occur together, "
            "so that their effects cannot be told apart; exclude fewer pairs, or make one factor"
        )
    return plan


def recipes(design: Combinations, plan: Plan) -> list[Recipe]:
    """Return the runs of a plan; the second runs of repeated recipes come last.

    If several recipes of a plan have the same levels, they have the name of the first of them.
    """
    width = len(str(len(plan.levels) - 1))
    _, first, same = np.unique(plan.levels, axis=0, return_index=True, return_inverse=True)
    return [
        Recipe(
            name=f"r{first[same[number]]:0{width}}",
            levels=(levels := levels_at(design, plan.levels[number].tolist())),
            overrides=overrides_of(design, levels),
            number=number,
            seed=seed,
            third=int(plan.third[number]) + 1,
        )
        for seed, number in enumerate(plan.recipes_of_runs().tolist())
    ]


def levels_at(design: Combinations, indices: list[int]) -> dict[str, object]:
    """Return the level of each factor, and the learning rate, given the index of each among the
    levels of its factor.
    """
    factors = design["levels"].items()
    levels: dict[str, object] = {
        factor: [*of_factor][k] for (factor, of_factor), k in zip(factors, indices, strict=False)
    }
    if (rate := design["rate"]) is not None:
        levels[RATE] = rate["values"][str(levels[rate["by"]])][indices[-1]]
    return levels


def overrides_of(design: Combinations, levels: Mapping[str, object]) -> dict[str, object]:
    """Return the config keys that the levels of a recipe set."""
    overrides: dict[str, object] = {}
    for factor, of_factor in design["levels"].items():
        overrides |= of_factor[str(levels[factor])]
    rate = design["rate"]
    return overrides if rate is None else overrides | {rate["key"]: levels[RATE]}


def sizes(design: Combinations) -> list[int]:
    """Return the number of levels of each factor, and of the learning rates."""
    rate = design["rate"]
    rates = [] if rate is None else [len(next(iter(rate["values"].values())))]
    return [*map(len, design["levels"].values()), *rates]


def n_effects(design: Combinations) -> int:
    """Return the number of effects that the runs have to determine, learning rates included."""
    changes = sum(len(levels) - 1 for levels in design["levels"].values())
    rate = design["rate"]
    return changes + (0 if rate is None else sum(len(x) - 1 for x in rate["values"].values()))


def check(design: Combinations) -> None:
    """Raise UserError for a design that has no plan, or too few runs for its effects."""
    for factor, levels in design["levels"].items():
        if len(levels) < 2:
            raise UserError(f"study.levels.{factor} has {len(levels)} level; give at least two")
    if RATE in design["levels"]:
        raise UserError(f"study.levels.{RATE}: this is the name of the learning rates; rename it")
    _check_keys(design)
    _check_rates(design)
    if not 0 <= design["repeated"] <= design["recipes"]:
        raise UserError(
            f"study.repeated={design['repeated']} must be between 0 and the number of recipes "
            f"({design['recipes']})"
        )
    runs, needed = design["recipes"] + design["repeated"], RUNS_PER_EFFECT * n_effects(design)
    if runs < needed:
        raise UserError(
            f"study.recipes={design['recipes']} gives {runs} runs for {n_effects(design)} effects; "
            f"at least {RUNS_PER_EFFECT} runs for each effect are needed: {needed}"
        )


def _check_keys(design: Combinations) -> None:
    """Raise UserError if two factors set the same config key."""
    owners: dict[str, str] = {}
    rate = design["rate"]
    sets = {f: set().union(*levels.values()) for f, levels in design["levels"].items()}
    for factor, keys in (sets | ({RATE: {rate["key"]}} if rate else {})).items():
        for key in sorted(keys):
            owner = owners.setdefault(key.lstrip("+"), factor)
            if owner != factor:
                raise UserError(
                    f"study.levels: {owner} and {factor} both set {key}, so that a recipe would "
                    "have only one of their levels; put the levels into one factor"
                )


def _check_rates(design: Combinations) -> None:
    """Raise UserError if the learning rates do not fit the factor on which they depend."""
    if (rate := design["rate"]) is None:
        return
    if rate["by"] not in design["levels"]:
        raise UserError(f"study.rate.by={rate['by']}: {name_hint(rate['by'], [*design['levels']])}")
    levels = [*design["levels"][rate["by"]]]
    if {*levels} != {*rate["values"]}:
        missing = sorted({*levels} ^ {*rate["values"]})
        raise UserError(
            f"study.rate.values has {', '.join(rate['values'])}, but the levels of {rate['by']} "
            f"are {', '.join(levels)}; give rates for exactly these levels ({', '.join(missing)})"
        )
    if len({len(values) for values in rate["values"].values()}) > 1:
        raise UserError(
            f"study.rate.values: each level of {rate['by']} needs the same number of rates, so "
            "that levels and rates are balanced"
        )


def _excluded_pairs(design: Combinations) -> Iterator[Pair]:
    """Yield the excluded pairs; factors and levels are given by their indices in the design."""
    factors = design["levels"]
    for pair in design["excluded"]:
        if len(pair) != 2:
            raise UserError(f"study.excluded: {pair} must name a level of each of two factors")
        place = []
        for factor, level in pair.items():
            if level not in factors.get(factor, {}):
                allowed = [*factors.get(factor, factors)]
                raise UserError(f"study.excluded, {pair}: {name_hint(level, allowed)}")
            place += [[*factors].index(factor), [*factors[factor]].index(level)]
        yield Pair(*place)


def forecast(design: Combinations, plan: Plan, deviation: float, interaction: float) -> list[str]:
    """Return sentences about the balance of a plan, its cost in runs, and the standard errors that
    it will reach.

    Args:
        design: the design.
        plan: its plan.
        deviation: assumed standard deviation between runs of a recipe.
        interaction: assumed standard deviation of the interaction of each two changes.
    """
    # here, because they import scipy, which no start of a command may wait for
    from ablate.stats.combinations.effects import Runs
    from ablate.stats.combinations.tuned import expected_errors

    runs = Runs.of(plan, sizes(design), rate_column(design))
    level, pair = imbalance(plan.levels, [*_excluded_pairs(design)])
    errors = [
        float(expected_errors(runs, deviation, interaction, tuned=tuned).max())
        for tuned in (False, True)
    ]
    thirds = ", ".join(map(str, np.bincount(runs.third)))
    return [
        f"{len(runs.levels)} runs of {len(plan.levels)} recipes, in thirds of {thirds}, for "
        f"{len(runs.changes)} changes of {len(design['levels'])} factors.",
        f"The levels of a factor differ by at most {level} recipes, and pairs of levels by at most "
        f"{pair:.1f} from equal numbers.",
        f"If runs vary by {deviation:g} and each two changes interact by {interaction:g}, the "
        f"largest standard error is {errors[0]:.2g} for average effects and {errors[1]:.2g} for "
        "effects at chosen learning rates.",
    ]


def design_of(config: DictConfig) -> Combinations | None:
    """Return the design of the study in a config; None if the study is no study of combinations.

    Raises:
        UserError: the design is impossible, or has too few runs for its effects.
    """
    study = config.get("study")
    if study is None or study.get("design") is None:
        return None
    if study.design != DESIGN:
        raise UserError(f"study.design={study.design}: {name_hint(study.design, [DESIGN])}")
    keys = Combinations.__annotations__
    return cast(Combinations, OmegaConf.to_container(OmegaConf.masked_copy(study, [*keys])))


def runs_in(config: DictConfig) -> list[Recipe]:
    """Return all runs of the study of combinations in a config, also of other thirds; [] for
    another study.
    """
    design = design_of(config)
    return [] if design is None else [*_drawn(json.dumps(design))]


@lru_cache(maxsize=4)
def _drawn(design: str) -> tuple[Recipe, ...]:
    parts: Combinations = json.loads(design)
    return tuple(recipes(parts, plan_of(parts)))


def expand(config: DictConfig) -> None:
    """Complete the study of combinations in a config, in place: its factors, the keys that differ
    between recipes, the number of seeds, and the baseline of each claim.

    A study that was completed before, or is no study of combinations, is not changed.
    """
    if not (runs := runs_in(config)):
        return
    study = config.study
    if not OmegaConf.is_missing(study, "factors"):
        return
    keys = dict.fromkeys(key.lstrip("+") for run in runs for key in run.overrides)
    first = {factor: next(iter(levels)) for factor, levels in study.levels.items()}
    claims: Any = OmegaConf.to_container(study.claims, resolve=False)
    for claim in claims:
        compared = {factor: first[factor] for factor in claim["treatment"] if factor in first}
        claim["baseline"] = claim["baseline"] or compared
    with read_write(config):
        study.merge_with(
            {
                "factors": [*runs[0].levels],
                "nuisance": [*study.nuisance, VARIANT, *keys],
                "seeds": len(runs),
                "looks": 1,
                "claims": claims,
            }
        )


def levels_of(config: DictConfig) -> dict[str, object]:
    """Return the level of each factor in a run of a study of combinations; {} for a run that is no
    recipe.
    """
    recipe = (dict(run.levels) for run in runs_in(config) if run.name == config[VARIANT])
    return next(recipe, {})


def settings_of_levels(config: DictConfig) -> dict[str, dict[str, object]]:
    """Return the config keys that each level sets, by `factor=level`, and the learning rates."""
    runs = runs_in(config)
    levels = cast(FactorLevels, OmegaConf.to_container(config.study.levels))
    named: dict[str, dict[str, object]] = {
        f"{f}={name}": sets for f, of_factor in levels.items() for name, sets in of_factor.items()
    }
    rates = {run.levels[RATE] for run in runs if RATE in run.levels}
    return named | {f"{RATE}={rate}": {config.study.rate.key: rate} for rate in rates}

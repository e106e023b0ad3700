"""Expand a screen into an ordinary study: a baseline is compared with many variants of one change
each.

`study.screen` lists the variants. This module turns the list into a study with one factor,
`variant`. The levels of this factor are the baseline (the config without change) and each variant
(the config with the variant's overrides). One claim compares each variant with the baseline. The
baseline is trained once for all variants, and Holm's correction covers all claims. Everything that
works for a study works for a screen.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf, read_write

from ablate.config.labels import level_label
from ablate.errors import UserError, name_hint

FACTOR, BASELINE = "variant", "baseline"
# settings that all claims of a screen share, unless `claims` overrides them
SHARED = ("kind", "metric", "better", "margin", "margin_reason", "alpha", "source")
REPLICATES = "range(${budget.seeds})"
FEWEST_SEEDS = 3  # of a variant; with fewer, further seeds of the baseline do not count


def variants(config: DictConfig) -> dict[str, dict[str, Any]]:
    """Return the overrides of every variant of a screen (a study that compares many variants with
    one baseline), or of every recipe of a study of combinations, by name; {} for another config.
    """
    if is_combinations(config):
        from ablate.config.combinations import runs_in

        return {run.name: run.overrides for run in runs_in(config)}
    screen = OmegaConf.select(config, "study.screen")
    if screen is None or OmegaConf.is_missing(screen, "variants"):
        return {}
    plain: Any = OmegaConf.to_container(screen.variants, resolve=False)
    return {str(name): overrides or {} for name, overrides in plain.items()}


def is_combinations(config: DictConfig) -> bool:
    """Return whether the study is one of combinations, whose module imports NumPy."""
    study = config.get("study")
    return study is not None and study.get("design") is not None


def changed_keys(changes: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return the config keys that at least one variant changes, in the order of the variants.

    A variant adds a key with a plus before it, which is not part of the key.
    """
    keys = (key.lstrip("+") for overrides in changes.values() for key in overrides)
    return [*dict.fromkeys(keys)]


def expand(config: DictConfig) -> None:
    """Turn a screen (a study that compares many variants with one baseline) into an ordinary study;
    the config is changed in place.

    The study gets the factor `variant`, a claim for each variant, and the list of the changed keys.
    A config without a screen, or with a screen that was expanded before, is not changed.

    Raises:
        UserError: a variant has no change or a reserved name, or `claims` names no variant.
    """
    if is_combinations(config):
        from ablate.config.combinations import expand as expand_combinations

        expand_combinations(config)
    changes = variants(config)
    if not changes and str(config.get(FACTOR, BASELINE)) != BASELINE:
        raise UserError(
            f"{FACTOR}={config[FACTOR]}: only a study with study.screen.variants has variants"
        )
    if not changes or config.study.screen is None:
        return
    study = config.study
    _check(changes, study.screen)
    check_name(str(config.variant), changes)
    if OmegaConf.is_missing(study, "factors"):
        more = [] if OmegaConf.is_missing(study, "claims") else [*study.claims]
        nuisance = [*study.nuisance, *changed_keys(changes)]
        claims = [*(_claim(config, name) for name in changes), *more]
        with read_write(config):
            study.merge_with({"factors": [FACTOR], "nuisance": nuisance, "claims": claims})
            study.baseline_seeds = _baseline_seeds(study, len(changes))


def _baseline_seeds(study: DictConfig, variants: int) -> int | None:
    """Return the number of seeds of the baseline; None if it equals that of the variants.

    By default, it is that of the variants times the square root of the number of variants, because
    every claim compares a variant with the baseline.

    Source: Dunnett 1955, JASA 50, 1096.
    """
    usual = math.ceil(study.seeds * variants**0.5) if study.seeds >= FEWEST_SEEDS else 0
    planned = int(study.baseline_seeds or usual)
    return planned if planned > study.seeds else None


def swept_values(config: DictConfig) -> dict[str, Any]:
    """Return, for each config key, the values that an experiment file sweeps. For a screen, these
    are all variants and seeds, except for keys whose values the file sets.

    Hydra 1.4 ends if code has changed `hydra.sweeper`, so the values are not stored there.
    """
    params = config.hydra.sweeper.params
    given: Any = OmegaConf.to_container(params, resolve=False) if params else {}
    screen = OmegaConf.select(config, "study.screen")
    usual = {FACTOR: ",".join((BASELINE, *variants(config))), "seed": REPLICATES} if screen else {}
    values = OmegaConf.create({**usual, **given}, parent=config)
    return cast(dict[str, Any], OmegaConf.to_container(values, resolve=True))


def _check(changes: Mapping[str, Mapping[str, object]], screen: DictConfig) -> None:
    """Raise UserError for a variant without changes, for a claim of no variant, and for a claim
    that compares other arms.
    """
    for name, overrides in changes.items():
        if not overrides:
            raise UserError(f"study.screen.variants.{name} changes nothing; give an override")
        if FACTOR in overrides:
            raise UserError(
                f"study.screen.variants.{name} sets {FACTOR}, but a variant cannot refer to "
                "another variant: list the config keys that it changes"
            )
    for name, claim in screen.claims.items():
        if name not in changes:
            raise UserError(f"study.screen.claims.{name}: {name_hint(str(name), [*changes])}")
        if {"treatment", "baseline"} & {*claim}:
            raise UserError(
                f"study.screen.claims.{name}: remove the keys treatment and baseline. A claim of a "
                "screen always compares its variant with the baseline; to compare other arms, "
                "write the claim into study.claims"
            )


def check_name(name: str, changes: Iterable[str]) -> None:
    """Raise UserError for a name that is neither "baseline" nor the name of a variant."""
    names = [BASELINE, *changes]
    if name not in names:
        raise UserError(f"{FACTOR}={name}: {name_hint(name, names)}")


def _claim(config: DictConfig, name: str) -> dict[str, Any]:
    """Return the settings of a variant's claim: by default, that the variant is better than the
    baseline.
    """
    screen = config.study.screen
    shared = {key: screen[key] for key in SHARED}
    label, side = level_label(FACTOR, name), screen.better or "better"
    overrides: Any = OmegaConf.to_container(
        screen.claims.get(name) or OmegaConf.create(), resolve=False
    )
    claim = {
        "id": f"{config.name}_{name}",
        "statement": f"With {label}, {screen.metric} is {side} than with the baseline.",
        **shared,
        **overrides,
    }
    return {**claim, "treatment": {FACTOR: name}, "baseline": {FACTOR: BASELINE}}

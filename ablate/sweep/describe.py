"""Describe a new sweep for the log of questions: which arms it compares in which metrics, with
which settings and seeds.
"""

import os
import time
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from omegaconf import DictConfig

from ablate.config.combinations import runs_in, settings_of_levels
from ablate.config.leaves import leaves
from ablate.config.location import catalogue
from ablate.config.screen import changed_keys, variants
from ablate.evidence.about import Regime
from ablate.evidence.log import Sweep
from ablate.evidence.registration import Form, form, questions, registration_hash, settings
from ablate.record.label import place
from ablate.sweep.cell import SEEDS, Cell
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.runs import all_arms
from ablate.sweep.share import digest_of_code

# keys with the location of data on one machine
PLACES = ("root", "download_to", "url", "folder", "file")
MACHINE = ("threads",)  # keys of a setting that change results only by rounding


def describe(planned: PlannedSweep, regime: Regime) -> tuple[Sweep, Form]:
    """Return the line of a new sweep in the log, and the content of registered.json.

    Args:
        planned: the sweep, which has a study.
        regime: the setting of the sweep (data, model size, budget, device).
    """
    config, study = planned.config, planned.study
    assert study is not None
    tune, changes, factors = study.get("tune"), variants(config), study["factors"]
    free = [place(key) for key in (*factors, *([tune["key"]] if tune else []))]
    shared = {key: x for key, x in _settings(config).items() if not _is_below(key, free)}
    if recipes := runs_in(config):  # of all thirds, which are one study
        levels = settings_of_levels(config)
        texts = [{factor: str(level) for factor, level in run.levels.items()} for run in recipes]
    else:
        arms = all_arms(planned, changes)
        levels = _levels(arms, factors, changes)
        texts = [{factor: str(arm.levels[factor]) for factor in factors} for arm in arms]
    registered = form(study, levels, (shared | settings(arm, levels) for arm in texts))
    sweep = Sweep(
        name=config.name,
        time=time.time(),
        folder=os.path.relpath(config.hydra.sweep.dir, config.paths.results),
        study=registration_hash(registered),
        regime={key: value for key, value in regime.items() if key not in MACHINE},
        settings=shared,
        replicate=int(config.replicate),
        seeds=sorted({cell.seed for cell in planned.composed}),
        questions=questions(study, levels),
        contest=config.contest,
        levels=levels,
        free=free,
        code=digest_of_code(config),
    )
    return sweep, registered


def _levels(
    arms: Iterable[Cell], factors: Iterable[str], changes: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Return the settings of each level: those below the key of its factor, or below the keys that
    a variant of a screen changes.
    """
    levels: dict[str, dict[str, object]] = {}
    for arm, factor in product(arms, factors):
        name = str(arm.levels[factor])
        keys = changed_keys({name: changes.get(name, {})}) if changes else [factor]
        nodes = [place(key) for key in keys]
        sets = {key: x for key, x in _settings(arm.arm).items() if _is_below(key, nodes)}
        # a key that another factor varies below this one is no setting of the level
        before = levels.get(f"{factor}={name}", sets)
        levels[f"{factor}={name}"] = {k: x for k, x in sets.items() if before.get(k) == x}
    return levels


def _settings(config: DictConfig) -> dict[str, object]:
    """Return all settings that can change a result, by dotted key, except seeds and the location of
    data on this machine.
    """
    from ablate.record.identity import OUTSIDE, OUTSIDE_OF  # imports torch

    # the content of the data is not part of the config
    outside = [*(node for node in OUTSIDE if node != "data"), *SEEDS, "hydra"]
    outside += [f"{node}.{key}" for node in OUTSIDE_OF for key in OUTSIDE_OF[node]]
    return {
        key: class_name(key, value)
        for key, value in leaves(config).items()
        if key.rpartition(".")[2] not in PLACES and not _is_below(key, outside)
    }


def class_name(key: str, value: Any) -> Any:
    """Return the value of a config key; of the import path of a class of this package or of the
    catalogue, only the name of the class, so that a moved class is no change.
    """
    home = catalogue()
    packages = ("ablate", home.name if home else "ablate")
    ours = key.rpartition(".")[2] == "_target_" and str(value).partition(".")[0] in packages
    return value.rpartition(".")[2] if ours else value


def _is_below(key: str, nodes: Iterable[str]) -> bool:
    return f"{key}.".startswith(tuple(f"{node}." for node in nodes))

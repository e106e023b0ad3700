"""Describe a new sweep for the analysis log: which arms it compares in which metrics, with which
settings and seeds.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Transformer
from omegaconf import DictConfig, OmegaConf

from ablate.config.combinations import runs_in, settings_of_levels
from ablate.config.leaves import leaves
from ablate.config.screen import changed_keys, variants
from ablate.evidence.log import Sweep
from ablate.evidence.registration import Form, form, questions, registration_hash, settings
from ablate.evidence.types import Regime, Study
from ablate.record.environment import source_commit
from ablate.record.label import place
from ablate.sweep.cell import SEEDS, Cell
from ablate.sweep.planned import PlannedSweep
from ablate.sweep.share import digest_of_code
from ablate.sweep.variants import all_arms

# config groups that affect how a model learns or translates, and the components of a model
COMPONENTS = ("adapt", "initial", "loss", "optimizer", "schedule", "search", "task", "tokenizer")
# keys with the location of data on one machine
PLACES = ("root", "download_to", "url", "folder", "file")
Changes = Mapping[str, Mapping[str, object]]  # overrides of each variant of a screen, by name
MACHINE = ("threads",)  # keys of a setting that change results only by rounding


def describe(planned: PlannedSweep, regime: Regime) -> tuple[Sweep, Form]:
    """Return the line of a new sweep in the analysis log, and the content of registered.json.

    Args:
        planned: the sweep, which has a study.
        regime: the setting of the sweep (data, model size, budget, device).
    """
    config, study = planned.config, planned.study
    assert study is not None
    shared, changes = _shared(config, study), variants(config)
    if recipes := runs_in(config):  # of all thirds, which are one study
        levels = settings_of_levels(config)
        texts = [{factor: str(level) for factor, level in run.levels.items()} for run in recipes]
    else:
        arms = all_arms(planned, changes)
        levels = _levels(arms, study["factors"], changes, config.hydra.runtime.choices)
        texts = [{factor: _text(arm, factor) for factor in study["factors"]} for arm in arms]
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
        free=_varied(study),
        code=digest_of_code(config),
        claims=[[claim["id"], claim.get("reading") or ""] for claim in study["claims"]],
        components=components(
            config.hydra.runtime.choices, [*study["factors"], *changed_keys(changes)]
        ),
        commit=source_commit() or "",
    )
    return sweep, registered


def components(choices: Mapping[str, str | None], factors: Sequence[str]) -> dict[str, str]:
    """Return the chosen option of every config group that all arms of a study share, except the
    corpus and the size of the model, which are part of the setting.

    Args:
        choices: the chosen option by config group.
        factors: config keys that differ between arms.
    """
    return {
        group: option
        for group, option in choices.items()
        if option and group not in factors and (group in COMPONENTS or group.startswith("model/"))
    }


def _levels(
    arms: Sequence[Cell], factors: Sequence[str], changes: Changes, groups: Mapping[str, Any]
) -> dict[str, dict[str, object]]:
    """Return the settings of each option of the compared config groups, and the settings that each
    variant of a screen changes, by dotted key; {} for a factor that cannot change a result.
    """
    levels: dict[str, dict[str, object]] = {}
    for factor in factors:
        of_level: dict[str, list[dict[str, object]]] = {}
        for arm in arms:
            text = _text(arm, factor)
            nodes = changed_keys({text: changes.get(text, {})}) if changes else [factor]
            sets = _portable(leaves(arm.arm), [place(node) for node in nodes])
            of_level.setdefault(text, []).append(sets)
        for text, (first, *rest) in of_level.items():
            if not changes and _is_below(place(factor), _outside()):
                levels[f"{factor}={text}"] = {}
            elif changes or factor in groups:
                # a key that another factor varies below this one is no setting of the level
                same = {k: x for k, x in first.items() if all(o.get(k) == x for o in rest)}
                levels[f"{factor}={text}"] = same
    return levels


def _text(arm: Cell, factor: str) -> str:
    """Return the level of a factor in an arm as text, without quotes."""
    given = [word for word in arm.overrides if word.lstrip("+").partition("=")[0] == factor]
    if not given:
        return str(arm.levels[factor])
    (override,) = OverridesParser.create().parse_overrides(given[-1:])
    value: Any = override.value()
    return Transformer.str(value)


def _shared(config: DictConfig, study: Study) -> dict[str, object]:
    """Return all settings that can change a result, by dotted key, except factors, seed and the
    tuned parameter; of another swept key, the text of all its values.
    """
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    words = (override.lstrip("+").partition("=") for override in config.hydra.overrides.task)
    swept = {**{key: str(params[key]) for key in params}, **{key: value for key, _, value in words}}
    every = _portable(leaves(config)).items()
    kept = {k: x for k, x in every if not _is_below(k, [*_outside(), *_varied(study)])}
    return kept | {key: swept[key] for key in study["nuisance"] if key in swept}


def _outside() -> list[str]:
    """Return the nodes of the config that cannot change a result."""
    from ablate.record.identity import OUTSIDE, OUTSIDE_OF  # imports torch

    # the content of the data is not part of the config
    nodes = [*(node for node in OUTSIDE if node != "data"), *SEEDS, "hydra"]
    return nodes + [f"{node}.{key}" for node in OUTSIDE_OF for key in OUTSIDE_OF[node]]


def _varied(study: Study) -> list[str]:
    """Return the config keys of the factors and of the tuned parameter."""
    tune = study.get("tune")
    return [place(key) for key in (*study["factors"], *([tune["key"]] if tune else []))]


def _portable(values: Mapping[str, object], nodes: Iterable[str] = ("",)) -> dict[str, object]:
    """Return the settings below some nodes, except the location of data on this machine."""
    return {
        key: value
        for key, value in values.items()
        if key.rpartition(".")[2] not in PLACES and _is_below(key, nodes)
    }


def _is_below(key: str, nodes: Iterable[str]) -> bool:
    return any(not node or key == node or key.startswith(f"{node}.") for node in nodes)

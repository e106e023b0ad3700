"""What a sweep asks and with which settings and seeds, as the book keeps it."""

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.config.explain import explain
from ablate.config.leaves import leaves
from ablate.config.screen import BASELINE, FACTOR, changed_keys, variants
from ablate.errors import UserError
from ablate.evidence.analysis_log import Sweep, questions
from ablate.evidence.registration import Form, form, registration_hash
from ablate.evidence.types import Regime, Study
from ablate.record.label import place
from ablate.sweep.cell import SEEDS
from ablate.sweep.share import digest_of_code
from ablate.sweep.variants import words

# config groups whose options make a model learn or translate in another way
COMPONENTS = ("adapt", "initial", "loss", "optimizer", "schedule", "search", "task", "tokenizer")
INSIDE = "model/"  # the components of a model
PLACES = ("root", "download_to", "url", "folder", "file")  # where a machine keeps data
MACHINE = ("threads",)  # of a regime: what changes a number by its rounding alone


def asked(config: DictConfig, study: Study, regime: Regime) -> tuple[Sweep, Form]:
    """Return the line of a sweep that begins, and the form of its study that it registers."""
    swept = _swept(config)
    settings = _settings(config, study)
    settings |= {key: swept[key] for key in study["nuisance"] if key in swept}
    changes = variants(config)
    levels = _variants(config, changes) if changes else _levels(config, study, swept)
    arms = _arms(config, study, {**swept, **_every(changes)}, settings, levels)
    registered = form(study, levels, arms)
    sweep = Sweep(
        name=config.name,
        time=time.time(),
        folder=os.path.relpath(config.hydra.sweep.dir, config.paths.results),
        study=registration_hash(registered),
        regime={key: value for key, value in regime.items() if key not in MACHINE},
        settings=settings,
        replicate=int(config.replicate),
        seeds=_seeds(swept.get("seed", str(config.seed))),
        questions=questions(study),
        contest=config.contest,
        levels=levels,
        free=_varied(study),
        code=digest_of_code(),
        claims=[[claim["id"], claim.get("reading") or ""] for claim in study["claims"]],
        components=components(
            config.hydra.runtime.choices, [*study["factors"], *changed_keys(changes)]
        ),
    )
    return sweep, registered


def components(choices: Mapping[str, str | None], factors: Sequence[str]) -> dict[str, str]:
    """Return the option of every config group that is a component of all arms of a study.

    The corpus and the size of the model are parts of the regime; a validation searches alike.
    """
    return {
        group: option
        for group, option in choices.items()
        if option and group not in factors and (group in COMPONENTS or group.startswith(INSIDE))
    }


def _swept(config: DictConfig) -> dict[str, str]:
    """What is given for every job: by the sweeper's parameters, and over them the command line."""
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    said = (override.lstrip("+").partition("=") for override in config.hydra.overrides.task)
    return {key: str(params[key]) for key in params} | {key: value for key, _, value in said}


def _seeds(text: str) -> list[int]:
    return sorted(int(seed) for seed in _each(f"seed={text}"))


def planned_seeds(config: DictConfig) -> list[int]:
    """Return the seeds that the experiment itself plans, whichever the command line asks for."""
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    return _seeds(str(params["seed"])) if "seed" in params else []


def _each(word: str) -> list[str]:
    """The values that a word of the command line gives to a key."""
    override = OverridesParser.create().parse_override(word)
    if not override.is_sweep_override():
        return [str(override.value())]
    return [str(value) for value in override.sweep_string_iterator()]


def _levels(
    config: DictConfig, study: Study, swept: dict[str, str]
) -> dict[str, dict[str, object]]:
    """What every level of a config group sets, by dotted keys: it can change under its name."""
    choices = config.hydra.runtime.choices
    chosen = {key: swept.get(key) or choices[key] for key in study["factors"] if key in choices}
    given = {key: _each(f"{key}={words}") for key, words in chosen.items() if words}
    return {f"{key}={name}": _inside(config, key, name) for key in given for name in given[key]}


def _every(changes: Mapping[str, object]) -> dict[str, str]:
    """Return the sweep over all arms of a screen; a part of it may run some of them."""
    return {FACTOR: ",".join((BASELINE, *changes))} if changes else {}


def _variants(
    config: DictConfig, changes: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Return what every variant of a screen sets, by dotted keys.

    Raises:
        UserError: the overrides of a variant cannot be composed.
    """
    found: dict[str, dict[str, object]] = {f"{FACTOR}={BASELINE}": {}}
    kept = _unswept(config)
    for name, overrides in changes.items():
        try:
            composed = leaves(hydra.compose("config", [*kept, *words(overrides)]))
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(f"study.screen.variants.{name}: {explain(error)}") from None
        places = [place(key) for key in overrides]
        found[f"{FACTOR}={name}"] = {
            key: value
            for key, value in _portable(composed)
            if any(_below(key, node) for node in places)
        }
    return found


def _arms(
    config: DictConfig,
    study: Study,
    swept: Mapping[str, str],
    settings: Mapping[str, object],
    levels: Mapping[str, Mapping[str, object]],
) -> Iterator[dict[str, object]]:
    """Yield the settings of every arm, its factors among them, but for arms that do not run."""
    choices = config.hydra.runtime.choices
    values = {
        factor: _each(f"{factor}={swept[factor]}")
        if factor in swept
        else [str(choices.get(factor) or OmegaConf.select(config, place(factor)))]
        for factor in study["factors"]
    }
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    left_out = [{key: str(level) for key, level in arm.items()} for arm in without]
    for combination in itertools.product(*values.values()):
        arm = dict(zip(values, combination, strict=True))
        if any(one.items() <= arm.items() for one in left_out):
            continue
        sets = [levels.get(f"{key}={value}", {place(key): value}) for key, value in arm.items()]
        yield {**settings, **{key: value for one in sets for key, value in one.items()}}


def _inside(config: DictConfig, group: str, name: str) -> dict[str, object]:
    """What a level sets where all else is as the command line says, but for what it sweeps."""
    found = leaves(hydra.compose("config", [*_unswept(config, group), f"{group}={name}"]))
    return {key: value for key, value in _portable(found) if _below(key, place(group))}


def _unswept(config: DictConfig, *without: str) -> list[str]:
    """Return the words of a command that give one value each, but for those of some keys."""
    given = {word: word.lstrip("+") for word in config.hydra.overrides.task}
    return [
        word
        for word, plain in given.items()
        if plain.partition("=")[0] not in (FACTOR, *without) and len(_each(plain)) == 1
    ]


def _settings(config: DictConfig, study: Study) -> dict[str, object]:
    """All that can change a number and is neither factor nor seed, by dotted keys."""
    from ablate.record.identity import OUTSIDE, OUTSIDE_OF  # torch

    free = [*OUTSIDE, *SEEDS, "hydra"]
    free += [f"{node}.{key}" for node in OUTSIDE_OF for key in OUTSIDE_OF[node]]
    free.remove("data")  # its content is no part of the config
    nodes = [*free, *_varied(study)]
    found = _portable(leaves(config))
    return {key: value for key, value in found if not any(_below(key, node) for node in nodes)}


def _varied(study: Study) -> list[str]:
    """Keys of the factors and of what is tuned."""
    tune = study.get("tune")
    return [place(key) for key in (*study["factors"], *([tune["key"]] if tune else []))]


def _portable(found: dict[str, object]) -> Iterator[tuple[str, Any]]:
    """All but where a machine keeps its data."""
    return ((key, value) for key, value in found.items() if key.rpartition(".")[2] not in PLACES)


def _below(key: str, node: str) -> bool:
    return key == node or key.startswith(f"{node}.")

"""Describe a new sweep for the analysis log, the list of all sweeps that were started: which arms
it compares in which metrics, with which settings and seeds.
"""

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString, Transformer
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.config.explain import explain
from ablate.config.hydras import check_sweep
from ablate.config.leaves import leaves
from ablate.config.screen import BASELINE, FACTOR, changed_keys, variants
from ablate.errors import UserError
from ablate.evidence.analysis_log import Sweep
from ablate.evidence.questions import questions
from ablate.evidence.registration import Form, form, registration_hash
from ablate.evidence.types import Regime, Study
from ablate.record.label import place
from ablate.sweep.cell import SEEDS
from ablate.sweep.share import digest_of_code
from ablate.sweep.variants import words

# config groups that affect how a model learns or translates
COMPONENTS = ("adapt", "initial", "loss", "optimizer", "schedule", "search", "task", "tokenizer")
INSIDE = "model/"  # prefix of the components of a model
# keys with the location of data on one machine
PLACES = ("root", "download_to", "url", "folder", "file")
MACHINE = ("threads",)  # keys of a setting that change results only by rounding


def asked(config: DictConfig, study: Study, regime: Regime) -> tuple[Sweep, Form]:
    """Return the entry for a new sweep in the analysis log, and the form of its study.

    The analysis log lists every sweep that was started. The form of a study is everything that
    decides its verdicts; it is stored (registered) before the runs.

    Args:
        config: the config of the sweep, with Hydra's node.
        study: the study in this config.
        regime: the setting of the sweep (data, model size, budget, device).
    """
    swept = _swept(config)
    settings = _settings(config, study)
    settings |= {key: swept[key] for key in study["nuisance"] if key in swept}
    changes = variants(config)
    levels = _variants(config, changes) if changes else _levels(config, study, swept)
    every = {FACTOR: ",".join((BASELINE, *changes))} if changes else {}
    arms = _arms(config, study, {**swept, **every}, settings, levels)
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
    """Return the chosen option of every config group that all arms of a study share.

    The corpus and the size of the model are excluded, because they are part of the setting.

    Args:
        choices: the chosen option by config group.
        factors: config keys that differ between arms.
    """
    return {
        group: option
        for group, option in choices.items()
        if option and group not in factors and (group in COMPONENTS or group.startswith(INSIDE))
    }


def _swept(config: DictConfig) -> dict[str, str]:
    """Return the text of each overridden value by its key; for a swept key, the text of all its
    values, such as "0,1,2".

    The command line takes precedence over the parameters of Hydra's sweeper.
    """
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    overrides = (override.lstrip("+").partition("=") for override in config.hydra.overrides.task)
    return {key: str(params[key]) for key in params} | {key: value for key, _, value in overrides}


def _seeds(text: str) -> list[int]:
    try:
        return sorted(int(seed) for seed in _each(f"seed={text}"))
    except ValueError:
        raise UserError(
            f"seed={text}: each seed must be a whole number, as in seed=0,1,2 or seed=range(3)"
        ) from None


def planned_seeds(config: DictConfig) -> list[int]:
    """Return the seeds that the experiment file plans, even if the command selects other seeds; []
    if the file plans none.
    """
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    return _seeds(str(params["seed"])) if "seed" in params else []


def _each(word: str) -> list[str]:
    """Return the values that an override such as `seed=0,1` gives to its key, without quotes.

    Raises:
        UserError: the override has no list of values, such as interval(0,1).
    """
    override = _parsed(word)
    if not override.is_sweep_override():
        return [str(override.value())]
    check_sweep(override)
    return [str(value) for value in override.sweep_iterator(_unquoted)]


def _unquoted(value: Any) -> str:
    return value.text if isinstance(value, QuotedString) else Transformer.str(value)


def _parsed(word: str) -> Override:
    loader = GlobalHydra.instance().config_loader()  # lists the options of glob(*)
    (override,) = OverridesParser.create(loader).parse_overrides([word])
    return override


def _levels(
    config: DictConfig, study: Study, swept: dict[str, str]
) -> dict[str, dict[str, object]]:
    """Return the settings of each option of the swept config groups.

    Returns:
        settings by dotted key, for each `group=option`.
    """
    choices = config.hydra.runtime.choices
    chosen = {key: swept.get(key) or choices[key] for key in study["factors"] if key in choices}
    given = {key: _each(f"{key}={words}") for key, words in chosen.items() if words}
    return {
        f"{key}={name}": _settings_of(config, [f"{key}={name}"], [key])
        for key in given
        for name in given[key]
    }


def _variants(
    config: DictConfig, changes: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Return the settings that each variant of a screen changes; a screen is a study that compares
    many variants with one baseline.

    Returns:
        settings by dotted key, for each `variant=NAME`; {} for `variant=baseline`.

    Raises:
        UserError: the overrides of a variant cannot be composed.
    """
    variant = "study.screen.variants"
    return {f"{FACTOR}={BASELINE}": {}} | {
        f"{FACTOR}={name}": _settings_of(
            config, words(each), [key.lstrip("+") for key in each], f"{variant}.{name}: "
        )
        for name, each in changes.items()
    }


def _arms(
    config: DictConfig,
    study: Study,
    swept: Mapping[str, str],
    settings: Mapping[str, object],
    levels: Mapping[str, Mapping[str, object]],
) -> Iterator[dict[str, object]]:
    """Yield the settings of every arm, including its levels, by dotted key; arms that `without`
    leaves out are skipped.

    Args:
        config: the config of the sweep.
        study: the study.
        swept: text of all values of each overridden key, such as "0,1,2".
        settings: settings that all arms share, by dotted key.
        levels: settings of each `factor=level`, by dotted key.
    """
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
        if any(levels_left_out.items() <= arm.items() for levels_left_out in left_out):
            continue
        sets = [levels.get(f"{key}={value}", {place(key): value}) for key, value in arm.items()]
        yield {**settings, **{key: value for changes in sets for key, value in changes.items()}}


def _settings_of(
    config: DictConfig, overrides: Sequence[str], keys: Sequence[str], where: str = ""
) -> dict[str, object]:
    """Return the values below some keys after overrides are added to those of the command.

    Args:
        config: the config of the sweep.
        overrides: the overrides to compose.
        keys: config groups and keys; overrides of the command for them are left out.
        where: beginning of the message if the config cannot be composed.

    Raises:
        UserError: an option does not exist, or the config cannot be composed.
    """
    try:
        composed = leaves(hydra.compose("config", [*_unswept(config, *keys), *overrides]))
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(f"{where}{explain(error)}") from None
    nodes = [place(key) for key in keys]
    portable = _portable(composed)
    return {key: value for key, value in portable if any(_below(key, node) for node in nodes)}


def _unswept(config: DictConfig, *without: str) -> list[str]:
    """Return the overrides with a single value, except overrides of `variant` and of the keys in
    `without`.
    """
    kept = []
    for word in config.hydra.overrides.task:
        plain = word.lstrip("+")
        values = [] if plain.partition("=")[0] in (FACTOR, *without) else _each(plain)
        if len(values) == 1:  # seed=range(0,1) has a single value, but Hydra composes no sweep
            override = _parsed(plain)
            swept = [*override.sweep_string_iterator()] if override.is_sweep_override() else []
            kept.append(f"{word.partition('=')[0]}={swept[0]}" if swept else word)
    return kept


def _settings(config: DictConfig, study: Study) -> dict[str, object]:
    """Return all settings that can change a result, by dotted key, except factors, seed and the
    tuned nuisance parameter.
    """
    from ablate.record.identity import OUTSIDE, OUTSIDE_OF  # imports torch

    free = [*OUTSIDE, *SEEDS, "hydra"]
    free += [f"{node}.{key}" for node in OUTSIDE_OF for key in OUTSIDE_OF[node]]
    free.remove("data")  # the content of the data is not part of the config
    nodes = [*free, *_varied(study)]
    portable = _portable(leaves(config))
    return {key: value for key, value in portable if not any(_below(key, node) for node in nodes)}


def _varied(study: Study) -> list[str]:
    """Return the config keys of the factors and of the tuned nuisance parameter."""
    tune = study.get("tune")
    return [place(key) for key in (*study["factors"], *([tune["key"]] if tune else []))]


def _portable(settings: dict[str, object]) -> Iterator[tuple[str, Any]]:
    """Yield key and value of all settings except the location of data on this machine."""
    return ((key, value) for key, value in settings.items() if key.rpartition(".")[2] not in PLACES)


def _below(key: str, node: str) -> bool:
    return key == node or key.startswith(f"{node}.")

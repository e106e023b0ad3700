"""Describe a new sweep for the analysis log, the list of all sweeps that were started: which arms
it compares in which metrics, with which settings and seeds.
"""

import itertools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Transformer
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.config.leaves import leaves
from ablate.config.screen import BASELINE, FACTOR, changed_keys, variants
from ablate.errors import UserError, first_line
from ablate.evidence.analysis_log import Sweep
from ablate.evidence.questions import questions
from ablate.evidence.registration import Form, form, registration_hash
from ablate.evidence.types import Regime, Study
from ablate.record.label import key, place
from ablate.sweep.cell import SEEDS, Cell, first_of_each
from ablate.sweep.compose import compose
from ablate.sweep.planned import PlannedSweep
from ablate.sweep.share import digest_of_code
from ablate.sweep.variants import with_changes, words

# config groups that affect how a model learns or translates
COMPONENTS = ("adapt", "initial", "loss", "optimizer", "schedule", "search", "task", "tokenizer")
INSIDE = "model/"  # prefix of the components of a model
# keys with the location of data on one machine
PLACES = ("root", "download_to", "url", "folder", "file")
MACHINE = ("threads",)  # keys of a setting that change results only by rounding
Changes = Mapping[str, Mapping[str, object]]  # overrides of each variant of a screen, by name


def describe(planned: PlannedSweep, regime: Regime) -> tuple[Sweep, Form]:
    """Return the entry for a new sweep in the analysis log, and the form of its study.

    The analysis log lists every sweep that was started. The form of a study is everything that
    decides its verdicts; it is stored (registered) before the runs.

    Args:
        planned: the sweep, which has a study.
        regime: the setting of the sweep (data, model size, budget, device).
    """
    config, study = planned.config, planned.study
    assert study is not None
    swept = _swept(config)
    settings = _settings(config, study)
    settings |= {key: swept[key] for key in study["nuisance"] if key in swept}
    changes = variants(config)
    arms = _arms(planned, changes)
    levels = _levels(planned, changes, study["factors"], arms)
    texts = [{factor: _text(arm, factor) for factor in study["factors"]} for arm in arms]
    sets = ([levels.get(f"{k}={v}", {place(k): v}) for k, v in arm.items()] for arm in texts)
    items = (itertools.chain.from_iterable(level.items() for level in arm) for arm in sets)
    registered = form(study, levels, (settings | dict(arm) for arm in items))
    sweep = Sweep(
        name=config.name,
        time=time.time(),
        folder=os.path.relpath(config.hydra.sweep.dir, config.paths.results),
        study=registration_hash(registered),
        regime={key: value for key, value in regime.items() if key not in MACHINE},
        settings=settings,
        replicate=int(config.replicate),
        seeds=sorted({cell.seed for cell in planned.composed}),
        questions=questions(study),
        contest=config.contest,
        levels=levels,
        free=_varied(study),
        code=digest_of_code(config),
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


def planned_seeds(config: DictConfig) -> list[int]:
    """Return the seeds that the experiment file plans, even if the command selects other seeds; []
    if the file plans none.
    """
    try:
        return [int(seed.strip("'\"")) for seed in planned_values(config, "seed")]
    except ValueError:
        seeds = config.hydra.sweeper.params.seed
        raise UserError(
            f"seed={seeds}: each seed must be a whole number, as in seed=0,1,2 or seed=range(3)"
        ) from None


def planned_values(config: DictConfig, key: str, loader: ConfigLoader | None = None) -> list[str]:
    """Return the values that the experiment file plans for a key, as texts; [] if it plans none.

    Args:
        config: the config of the sweep.
        key: the config key.
        loader: Hydra's loader, which lists the options that a pattern such as glob(*) matches.
    """
    params = OmegaConf.select(config, "hydra.sweeper.params") or {}
    if params.get(key) is None:
        return []
    (override,) = OverridesParser.create(loader).parse_overrides([f"{key}={params[key]}"])
    if override.is_sweep_override():
        return [*override.sweep_string_iterator()]
    return [str(override.value())]


def _arms(planned: PlannedSweep, changes: Changes) -> list[Cell]:
    """Return a run of every arm; for a screen also of the variants that the command does not run,
    because a part of a screen has the registration of the whole screen.

    Raises:
        UserError: the overrides of a variant that the command does not run cannot be composed.
    """
    arms = first_of_each(planned.composed, lambda cell: key(cell.levels))
    if not changes or not arms:
        return arms
    by_name = {str(arm.levels[FACTOR]): arm for arm in arms}
    left_out = [str(arm.get(FACTOR)) for arm in planned.config.without]
    names = [name for name in (BASELINE, *changes) if name not in left_out]
    missing = [name for name in names if name not in by_name]
    name, base = next(iter(by_name.items()))
    given = base.overrides[: len(base.overrides) - len(words(changes.get(name, {})))]
    kept = [word for word in given if not word.startswith(f"{FACTOR}=")]
    jobs = with_changes([[*kept, f"{FACTOR}={name}"] for name in missing], changes)
    numbers = itertools.count()
    try:
        with redirect_stdout(StringIO()):  # the messages are about runs that this command lacks
            more = compose(planned.context, planned.config, jobs, numbers, planned.folder)
    except (HydraException, OmegaConfBaseException) as error:
        variant = f"study.screen.variants.{missing[next(numbers) - 1]}"
        raise UserError(f"{variant}: {first_line(error)}") from None
    by_name |= dict(zip(missing, more, strict=True))
    return [by_name[name] for name in names]


def _levels(
    planned: PlannedSweep, changes: Changes, factors: Sequence[str], arms: Sequence[Cell]
) -> dict[str, dict[str, object]]:
    """Return the settings of each option of the compared config groups, and the settings that each
    variant of a screen changes.

    Returns:
        settings by dotted key, for each `group=option` and `variant=NAME`; {} for
        `variant=baseline`.
    """
    levels: dict[str, dict[str, object]] = {}
    for factor, arm in itertools.product(factors, arms):
        text = _text(arm, factor)
        name, keys = f"{factor}={text}", changed_keys({text: changes.get(text, {})})
        if name not in levels and (changes or factor in planned.config.hydra.runtime.choices):
            nodes = [place(key) for key in (keys if changes else [factor])]
            config = arm.arm if changes else _without_nested(planned, arm, factor, arms)
            portable = _portable(leaves(config)).items()
            levels[name] = {k: v for k, v in portable if _is_below(k, nodes)}
    return levels


def _without_nested(
    planned: PlannedSweep, arm: Cell, factor: str, arms: Sequence[Cell]
) -> DictConfig:
    """Return the config of an arm without the overrides that other arms do not share and that lie
    below a factor, because they are not settings of its level.
    """
    shared = {*arm.overrides}.intersection(*(other.overrides for other in arms))
    keys = {word: word.lstrip("+").partition("=")[0] for word in arm.overrides}
    node = place(factor)
    nested = [
        word for word in keys if keys[word] != factor and _is_below(place(keys[word]), [node])
    ]
    kept = [word for word in arm.overrides if word in shared or word not in nested]
    if len(kept) == len(arm.overrides):
        return arm.arm
    return compose(planned.context, planned.config, [kept], [arm.number], planned.folder)[0].arm


def _text(arm: Cell, factor: str) -> str:
    """Return the level of a factor in an arm as text, without quotes."""
    given = [word for word in arm.overrides if word.lstrip("+").partition("=")[0] == factor]
    if not given:
        return str(arm.levels[factor])
    (override,) = OverridesParser.create().parse_overrides(given[-1:])
    value: Any = override.value()
    return Transformer.str(value)


def _settings(config: DictConfig, study: Study) -> dict[str, object]:
    """Return all settings that can change a result, by dotted key, except factors, seed and the
    tuned nuisance parameter.
    """
    from ablate.record.identity import OUTSIDE, OUTSIDE_OF  # imports torch

    free = [*OUTSIDE, *SEEDS, "hydra"]
    free += [f"{node}.{key}" for node in OUTSIDE_OF for key in OUTSIDE_OF[node]]
    free.remove("data")  # the content of the data is not part of the config
    nodes = [*free, *_varied(study)]
    portable = _portable(leaves(config)).items()
    return {key: value for key, value in portable if not _is_below(key, nodes)}


def _varied(study: Study) -> list[str]:
    """Return the config keys of the factors and of the tuned nuisance parameter."""
    tune = study.get("tune")
    return [place(key) for key in (*study["factors"], *([tune["key"]] if tune else []))]


def _portable(settings: Mapping[str, object]) -> dict[str, object]:
    """Return all settings except the location of data on this machine."""
    return {key: x for key, x in settings.items() if key.rpartition(".")[2] not in PLACES}


def _is_below(key: str, nodes: Iterable[str]) -> bool:
    return any(key == node or key.startswith(f"{node}.") for node in nodes)

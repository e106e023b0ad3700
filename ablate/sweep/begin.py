"""Start a sweep: compose its config, check its study, and register it before any run.

The log of questions gets the description of a new sweep: which arms it compares in which metrics,
with which settings and seeds.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

import hydra
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from ablate.config import leaves
from ablate.config.check import check_groups, check_study_keys
from ablate.config.labels import stored_labels
from ablate.config.limits import check_words
from ablate.config.location import CONF, SMOKE, catalogue
from ablate.config.screen import changed_keys, expand, is_combinations, variants
from ablate.config.settle import settle
from ablate.errors import UserError
from ablate.evidence.checks import ABOUT, write_about
from ablate.evidence.gather import command
from ablate.evidence.log import Sweep, register
from ablate.evidence.registration import (
    Form,
    form,
    questions,
    registration_hash,
    settings,
    shared_seeds,
)
from ablate.evidence.types import Regime, Study
from ablate.record.environment import source_commit
from ablate.record.files import check_name
from ablate.record.label import place
from ablate.sweep.cell import SEEDS, Cell, config_dirs, plain_study
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.runs import all_arms, ask
from ablate.sweep.share import alone, digest_of_code, enter
from ablate.verdict.conclude import UNREGISTERED, check_looks
from ablate.verdict.study_checks import check_study

# config groups that affect how a model learns or translates, and the components of a model
COMPONENTS = ("adapt", "initial", "loss", "optimizer", "schedule", "search", "task", "tokenizer")


def begin(config: DictConfig) -> None:
    """Check the study of a sweep, and choose the folder of the sweep.

    Raises:
        UserError: no decision rule applies to the study, or the config selects a Hydra launcher
            other than ablate's.
    """
    checked(config)
    enter(config, regime(config))


def register_study(sweep: PlannedSweep) -> None:
    """Register the study of a sweep, and write study.json with a seal: digests by which later
    changes are detected.

    If another process with the same command has registered the study, nothing is written. The runs
    must have been checked, because a sweep whose runs are refused must not count as an earlier
    sweep of its questions.
    """
    config = sweep.config
    with alone(config):
        if (sweep.folder / ABOUT).exists():
            return
        about: Any = {"name": config.name, "study": sweep.study, "regime": regime(config)}
        registration: Any = {}
        registered: Any = {}
        if sweep.study is not None:
            registration = UNREGISTERED
            if not sweep.study.get("exploratory"):
                entry, registered = describe(sweep, about["regime"])
                registration = register(Path(config.paths.results), entry)
                registration |= {"commit": source_commit() or "", "part": sweep.is_part}
            factors = [*sweep.study["factors"], *changed_keys(variants(config))]
            shared = components(config.hydra.runtime.choices, factors)
            registration = {**registration, "components": shared}
        about["registration"] = {**registration, "command": command_of(config)}
        if labels := stored_labels(config.hydra):
            about["registration"]["labels"] = labels
        write_about(sweep.folder, about, registered)


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


def checked(config: DictConfig) -> Study | None:
    """Return the study of a sweep after checking it; None if the sweep has no study.

    Settings that depend on the machine, such as the precision, are resolved in `config`.

    Raises:
        UserError: no decision rule applies to the study, or the config selects a Hydra launcher
            other than ablate's.
    """
    check_groups(config)
    check_words(config, config.hydra.overrides.task)
    if config.trainer.get("fast_dev_run"):
        raise UserError("trainer.fast_dev_run stores no result that a sweep needs: leave out -m")
    check_name("name", config.name)
    expand(config)
    check_study_keys(config)
    study = None if config.study is None else plain_study(config)
    check_plugins(config.hydra)
    settle(config)
    if study is not None:
        check_study(study)
        check_looks(study)
    else:
        ask(config)
    return study


def check_plugins(settings: DictConfig) -> None:
    """Raise UserError if the command selects a launcher or a sweeper other than those of ablate, or
    lets runs change the working folder.
    """
    for name in ("launcher", "sweeper"):
        if not settings[name]._target_.startswith("hydra_plugins.ablate_plugins."):
            raise UserError(
                f"hydra/{name}={settings.runtime.choices[f'hydra/{name}']}: `ablate` has its own "
                f"{name}; leave hydra/{name} out, and choose engine=OPTION"
            )
    if settings.job.chdir:
        raise UserError(
            "hydra.job.chdir=true: a run finds its files from this folder; leave it out"
        )


class Composed(NamedTuple):
    """Hydra's context, the config of a sweep, and the overrides of each of its jobs."""

    context: HydraContext
    config: DictConfig
    jobs: list[list[str]]


@contextmanager
def composed(
    words: Sequence[str],
    folder: str | None = None,
    main: str | None = None,
    name: str | None = None,
) -> Iterator[Composed]:
    """Compose a sweep as Hydra would, check its study, and yield the sweep.

    Hydra stays active until the block ends.

    Args:
        words: overrides.
        folder: --config-dir, an additional folder to search.
        main: --config-path, the folder of the main config; None for the folder of this package.
        name: --config-name, the name of the main config.

    Raises:
        UserError: no decision rule applies to the study.
    """
    with _searching(folder, main or str(CONF)) as started:
        config = started.compose_config(name or "config", [*words], run_mode=RunMode.MULTIRUN)
        context = HydraContext(config_loader=started.config_loader, callbacks=Callbacks(config))
        checked(config)
        sweeper: Any = Plugins.instance().instantiate_sweeper(
            config=config, hydra_context=context, task_function=lambda config: None
        )
        jobs = sweeper.jobs(config.hydra.overrides.task)
        yield Composed(context, config, jobs)


@contextmanager
def _searching(folder: str | None, main: str) -> Iterator[Hydra]:
    """Initialise Hydra with the main config folder, and with an additional folder if one is
    given.
    """
    with hydra.initialize_config_dir(os.path.abspath(main), version_base="1.3"):
        path = GlobalHydra.instance().config_loader().get_search_path()
        if folder:
            place = f"file://{Path(folder).resolve()}"
            path.prepend("command-line", place, SearchPathQuery("schema"))
        GlobalHydra.instance().clear()  # this instance has already read its search path
        yield Hydra.create_main_hydra2("plan", path)


def command_of(config: DictConfig) -> str:
    """Return the command that started this sweep, including values of `hydra.sweeper.params` from
    the command line.
    """
    words = config.hydra.overrides
    grid = [word for word in words.hydra if word.lstrip("+").startswith("hydra.sweeper.params")]
    return command([*words.task, *grid], "-m", config_dirs=config_dirs(config))


def regime(config: DictConfig) -> Regime:
    """Return the setting of a sweep: data, model size, budget, device and precision of its runs."""
    from ablate.record.identity import device_kind  # imports torch

    choices = config.hydra.runtime.choices
    model = config.model
    short = None if config.probe is not None else config.budget.short
    setting: Any = {
        "scale": SMOKE if str(choices.scale).startswith(SMOKE) else choices.scale,
        "data": choices.data,
        "model": choices.model,
        "d_model": model.d_model,
        "n_layers": model.n_layers,
        "steps": config.budget.steps,
        "tokens_per_step": config.batch.tokens,
        "device": device_kind(config),
        "precision": str(config.trainer.precision),
        "threads": config.threads,
        **({"short": short} if short else {}),
    }
    return cast(Regime, setting)


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
    if is_combinations(config):
        from ablate.config.combinations import runs_in, settings_of_levels  # imports NumPy

        levels = settings_of_levels(config)
        runs = runs_in(config)  # of all thirds, which are one study
        texts = [{factor: str(level) for factor, level in run.levels.items()} for run in runs]
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
        seeds=sorted(shared_seeds(((c.levels, c.seed) for c in planned.composed), study)),
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

"""Start a sweep: compose its config, check its study, and register it before any run."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

from ablate.config.annotations import check_words
from ablate.config.check import check_groups, check_study_keys
from ablate.config.labels import stored_labels
from ablate.config.location import CONF, SMOKE
from ablate.config.screen import changed_keys, expand, variants
from ablate.config.settle import settle
from ablate.errors import UserError
from ablate.evidence.about import Regime
from ablate.evidence.command import command
from ablate.evidence.digest import ABOUT, write_about
from ablate.evidence.log import register
from ablate.evidence.types import Study
from ablate.record.environment import source_commit
from ablate.record.files import check_name
from ablate.sweep.cell import config_dirs, plain_study
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.describe import describe
from ablate.sweep.question import ask
from ablate.sweep.share import alone, enter
from ablate.verdict.conclude import UNREGISTERED
from ablate.verdict.stages import check_looks
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
    _check_plugins(config.hydra)
    settle(config)
    if study is not None:
        check_study(study)
        check_looks(study)
    else:
        ask(config)
    return study


def _check_plugins(settings: DictConfig) -> None:
    """Raise UserError if the command selects a launcher or a sweeper other than those of ablate, or
    lets runs change the working folder.
    """
    for name in ("launcher", "sweeper"):
        if not settings[name]._target_.startswith("hydra_plugins.ablate_launcher."):
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

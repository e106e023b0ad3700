"""Start a sweep: check its study, and register it before any run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig

from ablate.config.check import check_groups, check_study_keys
from ablate.config.hydras import check_launcher
from ablate.config.screen import expand
from ablate.config.settle import settle
from ablate.evidence.analysis_log import register
from ablate.evidence.command import command
from ablate.evidence.seal import ABOUT, write_about
from ablate.evidence.types import Regime, Study
from ablate.record.files import check_name
from ablate.sweep.asked import asked
from ablate.sweep.cell import config_dirs, plain_study
from ablate.sweep.share import alone, enter
from ablate.verdict.stages import check_looks
from ablate.verdict.study_checks import check_study


def begin(config: DictConfig) -> None:
    """Check the study of a sweep, and choose the folder of the sweep.

    Raises:
        UserError: no decision rule applies to the study, or the config selects a Hydra launcher
            other than ablate's.
    """
    checked(config)
    enter(config, regime(config))


def register_study(config: DictConfig, study: Study | None) -> None:
    """Register the study of a sweep, and write study.json with a seal: digests by which later
    changes are detected.

    If another process with the same command has registered the study, nothing is written. The runs
    must have been checked, because a sweep whose runs are refused must not count as an earlier
    sweep of its questions.

    Args:
        config: the config of the sweep.
        study: the study in this config.
    """
    with alone(config):
        if not (Path(config.hydra.sweep.dir) / ABOUT).exists():
            _write_down(config, study, regime(config))


def checked(config: DictConfig) -> Study | None:
    """Return the study of a sweep after checking it; None if the sweep has no study.

    Settings that depend on the machine, such as the precision, are resolved in `config`.

    Raises:
        UserError: no decision rule applies to the study, or the config selects a Hydra launcher
            other than ablate's.
    """
    check_groups(config)
    check_name("name", config.name)
    expand(config)
    check_study_keys(config)
    study = None if config.study is None else plain_study(config)
    check_launcher(config.hydra.launcher._target_)
    settle(config)
    if study is not None:
        check_study(study)
        check_looks(study)
    return study


def _write_down(config: DictConfig, study: Study | None, about: Regime) -> None:
    registration: Any = {}
    registered: Mapping[str, object] = {}
    if study is not None:
        sweep, registered = asked(config, study, about)
        registration = register(Path(config.paths.results), sweep)
    about_sweep: Any = {
        "name": config.name,
        "study": study,
        "regime": about,
        "registration": {
            **registration,
            "command": command_of(config),
        },
    }
    write_about(Path(config.hydra.sweep.dir), about_sweep, registered, {})


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
        "scale": choices.scale,
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

"""Compose a sweep without starting it and without importing torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from ablate.config.explain import searching
from ablate.config.location import CONF
from ablate.sweep.apart import check_swept
from ablate.sweep.begin import checked


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
        UserError: no decision rule applies to the study, or a swept key is not one of its factors.
    """
    with searching([folder] if folder else [], main or str(CONF)):
        started = GlobalHydra.instance().hydra
        assert started is not None
        config = started.compose_config(name or "config", [*words], run_mode=RunMode.MULTIRUN)
        context = HydraContext(config_loader=started.config_loader, callbacks=Callbacks(config))
        study = checked(config)
        sweeper: Any = Plugins.instance().instantiate_sweeper(
            config=config, hydra_context=context, task_function=lambda config: None
        )
        jobs = sweeper.jobs(config.hydra.overrides.task)
        context.config_loader.load_sweep_config(config, jobs[0])  # this detects a misspelt key
        if study is not None:
            check_swept(jobs, study)
        yield Composed(context, config, jobs)

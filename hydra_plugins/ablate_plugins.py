"""Plugins of Hydra: the search for the options of the project's catalogue, the sweeper, and the
launcher, which runs each cell of a sweep in a new process.

This module is imported at every start of Hydra, so it imports nothing heavy.
"""

import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hydra._internal.core_plugins import basic_sweeper
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from ablate.config import catalogue_folders, search_catalogue
from ablate.config.screen import FACTOR, is_combinations, swept_values, variants
from ablate.errors import UserError


class Catalogue(SearchPathPlugin):
    """Appends the config folders of the catalogue to the folder of ablate."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folders, and let Python import the classes that their options name."""
        search_catalogue()
        for folder in catalogue_folders():
            search_path.append("catalogue", f"file://{folder}")


@dataclass
class AblateLauncherConf:
    """The launcher's config, which has no settings.

    The config key `n_jobs` sets the number of simultaneous runs.
    """

    _target_: str = "hydra_plugins.ablate_plugins.AblateLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="ablate", node=AblateLauncherConf)


class AblateLauncher(Launcher):
    """Composes, checks and builds all cells of a sweep, and then runs them.

    A cell is one run of the sweep. Errors in any cell are found before the first cell trains.
    """

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Store Hydra's context and config; `task_function` is ignored.

        Raises:
            UserError: the config selects another sweeper.
        """
        from ablate.sweep.runs import check_plugins

        check_plugins(config.hydra)
        self.context = hydra_context
        self.config = config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run all cells, end the sweep, and return nothing; a failed cell does not stop the others.

        Args:
            job_overrides: the overrides of each cell.
            initial_job_idx: number of the first cell, which is 0: there is one batch of cells.

        Raises:
            UserError: a cell has a wrong config.
            SystemExit: a cell failed.
        """
        from ablate.sweep.launch import launch

        launch(self.context, self.config, job_overrides)
        return []


@dataclass
class AblateSweeperConf(basic_sweeper.BasicSweeperConf):
    """The sweeper's config, with the settings of Hydra's basic sweeper."""

    _target_: str = "hydra_plugins.ablate_plugins.AblateSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="ablate", node=AblateSweeperConf)


class AblateSweeper(basic_sweeper.BasicSweeper):
    """Creates one job for every combination of the swept values."""

    def sweep(self, arguments: list[str]) -> Any:
        """Check and register the study, and run all jobs.

        Raises:
            UserError: the config or the study is invalid.
        """
        assert self.config is not None
        print(f"{self.config.name}: preparing the study", file=sys.stderr, flush=True)
        from ablate.sweep.begin import begin

        begin(self.config)
        return super().sweep(arguments)

    def split_arguments(  # type: ignore[override]
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """Return all jobs in one batch, because a study is checked as a whole.

        Each job is a list of overrides.

        For a screen (a study that compares many variants with one baseline), the overrides of a
        job's variant are appended to the job. All workers of a sweep shuffle values alike.

        Raises:
            UserError: there is no job, because a swept key has no values, as in seed=range(5,5);
                or several experiments are given.
        """
        assert self.config is not None
        for override in overrides:
            if override.key_or_group == "experiment" and override.is_sweep_override():
                # Hydra has read arms and seeds before it chooses from a list of experiments
                raise UserError(f"{override.input_line}: start a sweep for each experiment")
        changes = variants(self.config)
        _let_later_values_replace(overrides)
        state = random.getstate()
        random.seed(0)  # workers and a resumed sweep must give equal numbers to equal jobs
        batches = super().split_arguments(overrides, None)
        random.setstate(state)
        if is_combinations(self.config):  # a recipe and its seed belong together
            from ablate.config.combinations import runs_in  # imports NumPy

            third = self.config.study.third
            runs = [run for run in runs_in(self.config) if third in (None, run.third)]
            pairs = [[f"{FACTOR}={run.name}", f"seed={run.seed}"] for run in runs]
            batches = [[*with_recipes(batch, pairs)] for batch in batches]
        if not any(batches):
            swept = (word for word in overrides if word.is_sweep_override())
            empty = [str(word.input_line) for word in swept if not [*word.sweep_string_iterator()]]
            raise UserError(
                f"{', '.join(empty)} has no values, so there are no runs: give at least one value"
            )
        from ablate.sweep.runs import with_baseline, with_changes

        study = self.config.get("study")
        return [with_baseline(with_changes(batch, changes), study) for batch in batches]

    def jobs(self, arguments: Sequence[str]) -> list[list[str]]:
        """Return the overrides of every job of a sweep.

        `arguments` are the overrides on the command line. Overrides in the config are added.
        """
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        given = parser.parse_overrides([*self._parse_config(), *arguments])
        return [list(job) for batch in self.split_arguments(given, None) for job in batch]

    def _parse_config(self) -> list[str]:
        assert self.config is not None
        return [f"{key}={values}" for key, values in swept_values(self.config).items()]

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        """Do nothing, because the launcher checks the jobs.

        The launcher composes the config once for each arm, and not once for each seed.
        """


def with_recipes(
    jobs: Iterable[Sequence[str]], pairs: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """Yield each job with the recipe and the seed of every run; a job that names a recipe or a seed
    is a part of the study, with the runs that have it.
    """
    for job in jobs:
        named = {word for word in job if word.startswith((f"{FACTOR}=", "seed="))}
        overrides = [word for word in job if word not in named]
        yield from ([*overrides, *pair] for pair in pairs if named <= {*pair})


def _let_later_values_replace(overrides: Sequence[Override]) -> None:
    """Remove the pluses of `++key=value` if an earlier override, such as a parameter of the
    experiment, sets the same key.

    The later values then replace the earlier ones. With the pluses, Hydra's sweeper would run every
    pair of an earlier and a later value. `seed` and `variant` never keep their pluses, because
    `ablate` looks for `seed=` and `variant=` in the overrides of each job.
    """
    keys = {"seed", FACTOR}
    for override in overrides:
        if override.is_force_add() and override.key_or_group in keys:
            override.type = OverrideType.CHANGE
        if override.type is OverrideType.CHANGE and override.package is None:
            keys.add(override.key_or_group)

"""The launcher of sweeps: it runs each cell in a new process, and several cells at a time.

This module is imported at every start of Hydra, so it imports nothing heavy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class AblateLauncherConf:
    """The launcher's config, which has no settings.

    The config key `n_jobs` sets the number of simultaneous runs.
    """

    _target_: str = "hydra_plugins.ablate_launcher.launcher.AblateLauncher"


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
        from ablate.sweep.begin import check_plugins

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
        from ablate.plan.power import say_doubts
        from ablate.sweep.launch import launch

        launch(self.context, self.config, job_overrides, say_doubts)
        return []

"""The launcher of sweeps: a new process per run, several at a time.

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
    """Has no settings: `n_jobs` sets the number of simultaneous runs."""

    _target_: str = "hydra_plugins.ablate_launcher.launcher.AblateLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="ablate", node=AblateLauncherConf)


class AblateLauncher(Launcher):
    """Composes, checks and builds every cell before the first one trains, then runs them."""

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Store Hydra's context and config; the task function is always `ablate.train.run.run`."""
        self.context = hydra_context
        self.config = config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run all cells; a failed cell does not stop the others."""
        from ablate.plan.doubts import say_doubts
        from ablate.sweep.launch import launch

        return launch(self.context, self.config, job_overrides, initial_job_idx, say_doubts)

"""The sweeper of sweeps: Hydra's own, without its second look at every job.

This module is imported at every start of Hydra, so it imports nothing heavy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hydra._internal.core_plugins import basic_sweeper
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from ablate.config.screen import variants
from ablate.sweep.variants import with_changes


@dataclass
class AblateSweeperConf(basic_sweeper.BasicSweeperConf):
    """The choices of Hydra's own sweeper."""

    _target_: str = "hydra_plugins.ablate_launcher.sweeper.AblateSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="ablate", node=AblateSweeperConf)


class AblateSweeper(basic_sweeper.BasicSweeper):
    """Every combination of the swept values, one job each."""

    def split_arguments(  # type: ignore[override]
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """Split into batches of jobs; each job of a screen has the overrides of its variant."""
        assert self.config is not None
        changes = variants(self.config)
        batches = super().split_arguments(overrides, max_batch_size)
        return [with_changes(batch, changes) for batch in batches]

    def jobs(self, arguments: Sequence[str]) -> list[list[str]]:
        """Overrides of every job, of the config and of the command line."""
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        given = parser.parse_overrides([*self._parse_config(), *arguments])
        return [list(job) for batch in self.split_arguments(given, None) for job in batch]

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        """Leave it to our launcher, which composes an arm once; Hydra composes every seed of it."""

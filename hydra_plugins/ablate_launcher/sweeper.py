"""Hydra's basic sweeper without its check of every job, which the launcher does faster.

This module is imported at every start of Hydra, so it imports nothing heavy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hydra._internal.core_plugins import basic_sweeper
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from ablate.config.screen import variants
from ablate.errors import UserError
from ablate.sweep.variants import with_changes


@dataclass
class AblateSweeperConf(basic_sweeper.BasicSweeperConf):
    """The sweeper's config, with the settings of Hydra's basic sweeper."""

    _target_: str = "hydra_plugins.ablate_launcher.sweeper.AblateSweeper"


ConfigStore.instance().store(group="hydra/sweeper", name="ablate", node=AblateSweeperConf)


class AblateSweeper(basic_sweeper.BasicSweeper):
    """Creates one job for every combination of the swept values."""

    def split_arguments(  # type: ignore[override]
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """Return batches of jobs, each job as a list of overrides.

        For a screen (a study that compares many variants with one baseline), the overrides of a
        job's variant are appended to the job.

        Raises:
            UserError: there is no job, because a swept key has no values, as in seed=range(5,5).
        """
        assert self.config is not None
        changes = variants(self.config)
        batches = super().split_arguments(overrides, max_batch_size)
        if not any(batches):
            swept = (word for word in overrides if word.is_sweep_override())
            empty = [str(word.input_line) for word in swept if not [*word.sweep_string_iterator()]]
            raise UserError(
                f"{', '.join(empty)} has no values, so there are no runs: give at least one value"
            )
        return [with_changes(batch, changes) for batch in batches]

    def jobs(self, arguments: Sequence[str]) -> list[list[str]]:
        """Return the overrides of every job of a sweep.

        `arguments` are the overrides on the command line. Overrides in the config are added.
        """
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        given = parser.parse_overrides([*self._parse_config(), *arguments])
        return [list(job) for batch in self.split_arguments(given, None) for job in batch]

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        """Do nothing, because the launcher checks the jobs.

        The launcher composes the config once for each arm, and not once for each seed.
        """

"""The W&B side of a run: Lightning's logger, with a run that begins and ends with ours.

The W&B run of a cell has the identity of its evaluation, or that of a probe. A repeated run takes
the place of the first. A run that goes on, and one that only tests weights that were trained
before, hold the whole history: online W&B has it, else what the record has is logged again.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import wandb
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only

from ablate.config.limits import OneOf, Range
from ablate.errors import UserError
from ablate.record.training import Record
from ablate.record.types import Failure, Whole
from ablate.train.module import Training
from ablate.train.run_logger import RunLogger
from ablate.wandb.connection import MODES, as_tags, check_environment, check_names, settle
from ablate.wandb.describe import LoggedRun, Names, conclude, define_metrics, log_again
from ablate.wandb.note import Place
from ablate.wandb.samples import COLUMNS, KEY, translations
from ablate.wandb.start import start


class WandbRun(WandbLogger, RunLogger):
    """Logs to a W&B run of its own, on the first process of a run only.

    Args:
        save_dir: the run's folder.
        project: W&B project.
        entity: W&B account or team; None for the user's default.
        group: of the runs and of their analysis; None for the name of the experiment.
        name: of the run; in a sweep what its runs' names begin with. None: made from the overrides.
        notes: on the run.
        tags: beside those of the claims; a text has commas between them, as WANDB_TAGS.
        mode: auto | online | offline.
        samples: translations shown per validation.
    """

    def __init__(  # noqa: PLR0913  # what W&B has names for
        self,
        *,
        save_dir: str,
        project: str,
        entity: str | None,
        group: str | None,
        name: str | None,
        notes: str | None,
        tags: list[str] | str | None,
        mode: Annotated[str, OneOf(MODES)],
        samples: Annotated[int, Range(0)],
    ) -> None:
        super().__init__(save_dir=save_dir, project=project)
        self.names = Names(
            project=project,
            entity=entity or None,
            group=group or None,
            name=name or None,
            notes=notes or None,
            tags=tuple(as_tags(tags)),
        )
        self.samples = samples
        self.wanted = mode
        self.steps_done: Callable[[], int] = lambda: 0
        self.advice = f"to send it to W&B: ablate upload {save_dir}"

    def check(self) -> None:
        """Check the environment, the names and the mode.

        Raises:
            UserError: W&B would not accept one of them, or has no key and is to be online.
        """
        check_environment()
        check_names(self.names.project, self.names.group, self.names.tags)
        mode = os.environ.get("WANDB_MODE") or self.wanted
        if mode == "online":
            settle(mode)

    def advise_reused(self, record: Record, found: Whole) -> str:
        """Return the command that uploads a run that W&B lacks."""
        place = Place(
            Path(found.get("evaluation", record.folder)), record.folder, found["identity"]
        )
        if place.state(self.names.project, self.names.group or record.config.name) != "missing":
            return ""
        return f"This run was done before, and W&B lacks it: ablate upload {record.folder}"

    @rank_zero_only
    def begin(self, record: Record) -> None:
        """Start the W&B run."""
        self._run = LoggedRun.of(record)
        self._experiment = start(
            self.wanted,
            record.folder,
            self._run.identity,
            goes_on=record.metrics_bytes() > 0,
            **self._run.arguments(self.names),
        )
        define_metrics(self._experiment)
        if not self._experiment.resumed:
            log_again(self._experiment, record.metrics)

    def count_by(self, steps_done: Callable[[], int]) -> None:
        """Log by this number of optimiser steps."""
        self.steps_done = steps_done

    @rank_zero_only
    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        """Log values at the number of optimiser steps that are done."""
        super().log_metrics(metrics, self.steps_done())

    @rank_zero_only
    def validated(self, task: Training) -> None:
        """Log translations of the first sentences of validation."""
        if self.samples and task.task.generates:
            rows = translations(task, self.samples)
            self.log_table(KEY, COLUMNS, rows, step=self.steps_done())

    @rank_zero_only
    def show(self, task: Training) -> None:
        """Log attention maps and positions."""
        from ablate.observe.pictures import pictures  # matplotlib

        self.experiment.log(
            {
                name: wandb.Image(picture)
                for name, picture in pictures(task.model, task.data, task.device)
            }
        )

    @rank_zero_only
    def end(self, found: Whole | Failure) -> None:
        """Put the result into the summary, and finish the W&B run: 0 a result, 1 a failure."""
        with suppress(UserError):  # the result is on disk, which is what counts
            conclude(self.experiment, self._run, found)

    @rank_zero_only
    def abandon(self) -> None:
        """Finish the W&B run; if that fails as well, forget W&B's background process."""
        if self._experiment is None:
            return
        try:
            self._experiment.finish(exit_code=1)
        except Exception:
            wandb.teardown()  # else it fails once more when this process ends
            raise

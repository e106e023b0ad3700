"""The W&B side of a run: Lightning's logger, with a run that begins and ends with ours.

A repeated run has the id of the first: online it replaces that, and offline its folder is the
only one, because a record starts with an empty folder.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import wandb
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only
from wandb.sdk.wandb_run import Run

from ablate.errors import UserError
from ablate.task import Translation
from ablate.tracking.arm import arm, choices, levels
from ablate.tracking.connection import MODES, Mode, forget_other_runs, settle
from ablate.tracking.record import Record
from ablate.tracking.samples import Samples
from ablate.tracking.tracking import Follower

STEP = "trainer/global_step"  # the name that Lightning's logger gives the step
# How a metric is summed up over a run, by the part after the slash; the others by their last value.
SUMMARIES = {
    **dict.fromkeys(("bleu", "bleu_tokenised", "chrf"), "max"),
    **dict.fromkeys(("nll", "objective"), "min"),
    "gradient_norm": "max",
}
PLAIN = ("status", "error", "wall_seconds")  # of result.json
LONGEST_NAME = 64  # of a tag or a job type
INIT_SECONDS = 30.0
FINISH_SECONDS = 120.0  # for what is not uploaded yet; it stays on disk and can be synced


class WandbRun(WandbLogger, Follower):
    """Logs to a W&B run of its own, on the first process of a run only.

    Args:
        save_dir: the run's folder.
        project: W&B project.
        entity: W&B account or team; None for the user's default.
        mode: auto | online | offline.
        samples: translations shown per validation.

    Raises:
        UserError: mode or samples is not possible.
    """

    def __init__(
        self, *, save_dir: str, project: str, entity: str | None, mode: str, samples: int
    ) -> None:
        super().__init__(save_dir=save_dir, project=project)
        if mode not in MODES:
            raise UserError(f"logger.mode={mode}: allowed is {', '.join(MODES)}")
        if samples < 0:
            raise UserError(f"logger.samples={samples}: it must be at least 0")
        self.entity = entity
        self.samples = samples
        self.wanted = mode

    @rank_zero_only
    def begin(self, record: Record) -> None:
        """Start the W&B run.

        Raises:
            UserError: `mode` is online, and W&B is not reached.
        """
        forget_other_runs()
        mode = settle(self.wanted)
        try:
            run = self._init(record, mode)
        except wandb.Error as error:
            if self.wanted == "online":
                raise UserError(f"logger.mode=online: {error}") from None
            print(f"W&B is not reached: {error}")
            wandb.teardown()  # it still holds the id
            run = self._init(record, "offline")
        define_metrics(run, record.config.test_splits)
        self._experiment = run

    def _init(self, record: Record, mode: Mode) -> Run:
        # W&B's own lines are of use only when something is sent; offline, `end` says enough.
        wandb.setup(settings=wandb.Settings(mode=mode, silent=mode != "online"))
        config = record.config
        return wandb.init(
            project=self.name,
            entity=self.entity,
            group=config.name,
            job_type=arm(config)[:LONGEST_NAME],
            name=f"{arm(config)}, seed {config.seed}",
            id=record.identity,
            tags=[claim.id[:LONGEST_NAME] for claim in (config.study or {}).get("claims", [])],
            config=columns(record),
            dir=self.save_dir,
            settings=wandb.Settings(
                mode=mode,
                reinit="create_new",  # never somebody else's run of this process
                x_save_requirements=False,  # in environment.json; collecting them takes 0.1 s
                init_timeout=INIT_SECONDS,
                finish_timeout=FINISH_SECONDS,
            ),
        )

    def callbacks(self) -> list[Callback]:
        """Sample translations at every validation."""
        return [Samples(self, self.samples)] if self.samples else []

    @rank_zero_only
    def show(self, task: Translation) -> None:
        """Log attention maps and positions."""
        from ablate.tracking.pictures import pictures  # matplotlib

        self.experiment.log({name: wandb.Image(picture) for name, picture in pictures(task)})

    @rank_zero_only
    def end(self, found: dict[str, Any]) -> None:
        """Put the result into the summary, and finish the W&B run: 0 a result, 1 a failure."""
        run = self.experiment
        run.summary.update(summary(found))
        folder = Path(run.dir).parent
        run.finish(exit_code=int(found["status"] == "failed"))
        if run.offline:
            print(f"W&B is offline; to upload this run: wandb sync {folder}")


def define_metrics(run: Run, test_splits: Iterable[str]) -> None:
    """Count by optimiser steps, and sum up each metric by its best or its worst value."""
    run.define_metric(STEP)
    run.define_metric("*", step_metric=STEP, step_sync=True)
    for prefix in ("train", "val", *test_splits):
        for name, summary in SUMMARIES.items():
            run.define_metric(f"{prefix}/{name}", step_metric=STEP, summary=summary)


def columns(record: Record) -> dict[str, Any]:
    """The config in W&B: the resolved tree, the levels as flat columns, and the identity."""
    tree: Any = OmegaConf.to_container(record.config, resolve=True)
    environment = json.loads((record.folder / "environment.json").read_text())
    # W&B takes a dot for nesting
    flat = {f"level/{f.replace('.', '/')}": v for f, v in levels(record.config).items()}
    return {
        **tree,
        **flat,
        "arm": arm(record.config),
        "choices": choices(),
        "identity": record.identity,
        "data_fingerprint": record.parts["data"],
        "device": record.parts["device"],
        "libraries": record.parts["libraries"],
        "commit": environment["commit"],
    }


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """The result for the summary; there, a metric's own name holds its best over the run."""
    own: dict[str, Any] = {key: found[key] for key in PLAIN if key in found}
    metrics = {f"result/{name}": value for name, value in found["metrics"].items()}
    seconds = {f"seconds/{phase}": value for phase, value in found["seconds"].items()}
    return {**own, **metrics, **seconds}

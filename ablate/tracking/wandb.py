"""The W&B side of a run: Lightning's logger, with a run that begins and ends with ours.

A repeated run has the id of the first: online it replaces that, and offline its folder is the
only one, because a record starts with an empty folder.
"""

import json
from pathlib import Path
from typing import Any

import wandb
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.loggers.logger import rank_zero_experiment
from pytorch_lightning.utilities import rank_zero_only
from wandb.sdk.wandb_run import Run

from ablate.errors import UserError
from ablate.task import Translation
from ablate.tracking.arm import arm, choices, levels
from ablate.tracking.connection import forget_other_runs, settle
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
LONGEST_TAG = 64
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
        if samples < 0:
            raise UserError(f"logger.samples={samples}: it must be at least 0")
        self.entity = entity
        self.samples = samples
        self.wanted = mode
        self.mode = "offline"

    @property
    @rank_zero_experiment
    def experiment(self) -> Run:
        """The W&B run; a stand-in that does nothing on other processes."""
        return self._run

    @rank_zero_only  # type: ignore[untyped-decorator]
    def begin(self, record: Record) -> None:
        """Start the W&B run.

        Raises:
            UserError: `mode` is online, and W&B is not reached.
        """
        forget_other_runs()
        self.mode = settle(self.wanted)
        try:
            self._run = self._init(record)
        except wandb.Error as error:
            if self.wanted == "online":
                raise UserError(f"logger.mode=online: {error}") from None
            print(f"W&B: {error}")
            self.mode = "offline"
            self._run = self._init(record)
        self._define_metrics(record.config)

    def _init(self, record: Record) -> Run:
        # W&B's own lines are of use only when something is sent; offline, `end` says enough.
        quiet = wandb.Settings(mode=self.mode, silent=self.mode != "online")
        wandb.setup(settings=quiet)
        config = record.config
        return wandb.init(
            project=self.name,
            entity=self.entity,
            group=config.name,
            job_type=arm(config)[:LONGEST_TAG],
            name=f"{arm(config)}, seed {config.seed}",
            id=record.identity,
            tags=[claim.id[:LONGEST_TAG] for claim in (config.study or {}).get("claims", [])],
            config=columns(record),
            dir=self.save_dir,
            settings=wandb.Settings(
                mode=self.mode,
                reinit="create_new",  # never somebody else's run of this process
                x_save_requirements=False,  # in environment.json; collecting them takes 0.1 s
                init_timeout=INIT_SECONDS,
                finish_timeout=FINISH_SECONDS,
            ),
        )

    def _define_metrics(self, config: DictConfig) -> None:
        self._run.define_metric(STEP)
        self._run.define_metric("*", step_metric=STEP, step_sync=True)
        measured = {"train": ("nll", "objective", "gradient_norm"), "val": ("nll", "bleu")}
        measured |= {
            split: ("nll", "bleu", "bleu_tokenised", "chrf") for split in config.test_splits
        }
        for prefix, names in measured.items():
            for name in names:
                self._run.define_metric(
                    f"{prefix}/{name}", step_metric=STEP, summary=SUMMARIES[name]
                )

    def callbacks(self) -> list[Callback]:
        """Sample translations at every validation."""
        return [Samples(self, self.samples)] if self.samples else []

    @rank_zero_only  # type: ignore[untyped-decorator]
    def show(self, task: Translation) -> None:
        """Log attention maps and positions."""
        from ablate.tracking.pictures import pictures  # matplotlib

        self._run.log({name: wandb.Image(picture) for name, picture in pictures(task)})

    @rank_zero_only  # type: ignore[untyped-decorator]
    def end(self, found: dict[str, Any] | None, error: BaseException | None) -> None:
        """Put the result into the summary, and finish the W&B run: 0 a result, 1 a failure."""
        failed = error is not None or found is None
        self._run.summary.update(_failure(error) if failed else _result(found))
        folder = Path(self._run.dir).parent
        self._run.finish(exit_code=int(failed))
        if self._run.settings.mode == "offline":
            print(f"W&B is offline; to upload this run: wandb sync {folder}")


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


def _result(found: dict[str, Any]) -> dict[str, Any]:
    """What result.json says. The plain metric names hold the best over the run."""
    metrics = {f"result/{name}": value for name, value in found["metrics"].items()}
    seconds = {f"seconds/{phase}": value for phase, value in found["seconds"].items()}
    return {"status": found["status"], **metrics, **seconds, "seconds/wall": found["wall_seconds"]}


def _failure(error: BaseException | None) -> dict[str, Any]:
    return {"status": "failed", "error": f"{type(error).__name__}: {error}"}

"""Print what a run is and does: its data, a line per validation, and its result."""

import time
from datetime import timedelta
from typing import Any, cast

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities import rank_zero_only

from ablate.data.batching import Batch
from ablate.data.module import TextData
from ablate.process import say_once
from ablate.record.results import Outcome, Result
from ablate.record.training import Record
from ablate.train.compatibility import READ
from ablate.train.job import Job
from ablate.train.stored import print_result

SPEED = "train/tokens_per_second"
SHOWN = {
    **{"train/nll": "nll", "val/nll": "val nll", "val/bleu": "val BLEU"},
    **{"train/lr": "lr", SPEED: "tokens/s"},
}


class Pace(Callback):
    """A callback that measures the time of validations and the speed of training: the number of
    target tokens per second on all devices. Padding tokens and the time of validations do not
    count.

    A line is printed at every validation, if the config of the record asks for it.
    """

    def __init__(self, record: Record) -> None:
        self.shown = record.writes and bool(record.config.trainer.enable_progress_bar)
        self.validating = 0.0  # seconds of validations since the first step of the run
        self._tokens = 0

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock by which the speed of training is measured."""
        self._first, self._begun = trainer.global_step, time.perf_counter()
        self._since = self._begun  # moved by the time of each validation

    def on_validation_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock of this validation."""
        self._validation = time.perf_counter()

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Stop the clock of this validation; print step, metrics, learning rate, speed, and the
        estimated time until the last step, including validations.
        """
        if trainer.state.fn != TrainerFn.FITTING:
            return
        now, step = time.perf_counter(), trainer.global_step
        self.validating += now - self._validation
        self._since += now - self._validation
        seconds = (now - self._begun) / max(1, step - self._first) * (trainer.max_steps - step)
        if self.shown:
            metrics = trainer.callback_metrics
            shown = {text: metrics[name] for name, text in SHOWN.items() if name in metrics}
            values = "  ".join(f"{name} {value:.4g}" for name, value in shown.items())
            left = timedelta(seconds=round(seconds))
            print(f"step {step:,} of {trainer.max_steps:,}  {values}  {left} left", flush=True)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Count the tokens of a batch; log the speed at the steps at which other metrics are
        logged.
        """
        self._tokens += batch.tokens or 0
        every: int = trainer.log_every_n_steps  # type: ignore[attr-defined] # its connector's
        if every and trainer.global_step % every == 0:
            now = time.perf_counter()
            module.log(SPEED, self._tokens * trainer.world_size / (now - self._since))
            self._tokens, self._since = 0, now

    def state_dict(self) -> dict[str, float]:
        """Return the seconds of validations, which a resumed run continues to count."""
        return {"validating": self.validating}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        """Restore the seconds of validations of the interrupted run."""
        self.validating = state_dict["validating"]


def introduce(job: Job, data: TextData) -> None:
    """Print, once per process, which corpus is read, its size, which of its splits are taken from
    the training text, and a warning for each test split whose scores would be meaningless.
    """
    say_once("; ".join(filter(None, [f"corpus: {data.about}", data.division])))
    evaluation = job.task.evaluation(data.languages[1], thorough=False)
    for split in job.config.test_splits if job.probe is None else ():
        if reason := evaluation.doubt(data.references(split)[:READ]):
            say_once(f"warning, {split}: {reason}")


@rank_zero_only
def announce(config: DictConfig, data: TextData, record: Record, *, step: int) -> None:
    """Print the data, the steps and the folder of a run that is about to train.

    `step` is the step from which a resumed run continues.
    """
    sizes = f"{data.tokenizers.src.size:,} / {data.tokenizers.tgt.size:,}"
    resumed = f", resumed after {step:,}" if step else ""
    print(f"{' to '.join(filter(None, data.languages))}, vocabulary {sizes}")
    print("\n".join(f"{split}: {data.describe(split)}" for split in data.counts))
    steps = f"{config.budget.steps:,} steps of {config.batch.tokens:,} target tokens"
    print(f"{steps}{resumed}, into {record.folder}", flush=True)


def conclude(
    record: Record, result: Result, short: Outcome | None, *, reused: bool, trained: bool
) -> Outcome:
    """Print the result of a run and return its outcome.

    Args:
        record: the record of the run, which has its folder.
        result: the result of training and test.
        short: the outcome of the run with `budget.short` steps, if there is one.
        reused: whether the whole result was stored by an earlier call.
        trained: whether this call has trained.
    """
    print_result(record, result, reused=reused)
    more = {"short": short} if short else {}
    return cast(Outcome, {**result, "reused": reused, "trained": trained, **more})

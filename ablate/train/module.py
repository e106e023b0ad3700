"""The LightningModule of a run: it calls the components in order and computes nothing itself."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.core.optimizer import LightningOptimizer
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor

from ablate import process
from ablate.data.batching import Batch
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.model import Model
from ablate.model.architecture import stacks_of
from ablate.observe import LayerGradients, Sublayers
from ablate.optimizer import make_optimizer
from ablate.task import Evaluation, Text
from ablate.train.job import Job, make_model

Weights = dict[str, Tensor]  # of a model, by parameter name


class Training(pl.LightningModule):
    """A LightningModule that trains on `Batch`es, validates with one decoding search, and tests
    with another.

    From the first gradient on that is not finite, no step changes the weights. On a CPU training
    ends at this step, and on a GPU at the next step at which metrics are logged.
    """

    def __init__(self, job: Job, model: Model, data: TextData) -> None:
        super().__init__()
        self.job, self.task = job, job.task
        self.loss = job.loss  # a module, whose tensors Lightning moves to the device
        self.model = model
        parts = (job.loss, *model.modules())
        counts_padding = any(getattr(part, "counts_padding", False) for part in parts)
        for _, stack in stacks_of(model):
            stack.ignores_padding = not counts_padding
        self.data = data
        language = data.languages[1]
        # These modules compute the scores of validation and of tests. A dictionary hides them from
        # Lightning: for true 16 and 64 bits, Lightning would cast them to that precision, but the
        # sums of scores must keep their types.
        self.evaluations = {
            "validation": job.task.evaluation(language, for_tests=False),
            "test": job.task.evaluation(language, for_tests=True),
        }
        self.split = "test"  # the split that `trainer.test` runs on
        self.failed = torch.zeros(())  # 1 after a gradient that was not finite, else 0
        self._unread: list[Tensor] = []  # `failed` after each step since it was last read
        self.measured: dict[str, float] = {}
        self.validated: int | None = None  # number of training steps before the latest validation
        self._fixed: Weights | None = None  # weights that evaluations use after training
        self.objective = self.compute
        if mode := job.config.trainer.get("compile"):
            # contexts of one length have one shape
            dynamic = job.config.batch.context is None
            self.objective = torch.compile(self.compute, mode=mode, dynamic=dynamic)
        self.gradients = LayerGradients()
        self.sublayers = Sublayers()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Training":
        """Return a copy that shares the job and the data, for callbacks that average weights."""
        memo |= {id(shared): shared for shared in (self.job, self.data)}
        twin = memo[id(self)] = type(self).__new__(type(self))
        twin.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return twin

    @property
    def diverged(self) -> bool:
        """Whether a gradient was not finite; on a GPU, reading this waits for the device."""
        return bool(self.failed)

    @property
    def steps(self) -> int:
        """The number of training steps, up to the first whose gradient was not finite."""
        return self.global_step - max(0, sum(map(int, self._unread)) - 1)

    @property
    def theoretical_scores(self) -> dict[str, float]:
        """Theoretical scores of a synthetic corpus, by name such as chance/nll; empty unless the
        task generates text, because the corpus states the scores of translation.
        """
        return self.data.theoretical_scores if self.task.generates else {}

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Return the optimiser, and the schedule that sets its learning rate before every step."""
        optimizer = make_optimizer(self.job.optimizer, self)
        rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: self._factor(done))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": rates, "interval": "step"}}

    def _factor(self, done: int) -> float:
        """Return the factor of the learning rate in the next step, after `done` steps.

        Raises:
            UserError: the factor is not finite. Otherwise the run would end as diverged, as if the
                model were the cause.
        """
        factor = self.job.schedule(done + 1)
        if not math.isfinite(factor):
            raise UserError(
                f"schedule {type(self.job.schedule).__name__} returns {factor} for step {done + 1},"
                " but a learning rate must be finite: repair the schedule or its settings, or "
                "choose another schedule"
            )
        return factor

    def configure_callbacks(self) -> list[Callback]:
        """Return the callbacks that measure the norms of gradients and of sub-layers during
        training.
        """
        return [self.gradients, self.sublayers]

    def compute(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the objective and the nll of a batch, each as a mean over the counted targets."""
        states = self.model(batch.inputs).flatten(0, 1)
        targets = batch.targets.flatten()
        if batch.real is not None and not self.loss.counts_padding:
            states, targets = (x.index_select(0, batch.real) for x in (states, targets))
        return self.model.head.score(self.loss, states, targets)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the training loss, a mean over the target tokens of the batch, and log it with the
        nll.
        """
        batch = batch if batch.tokens is not None else batch.with_counts()
        batch = batch._replace(inputs=self.task.training_inputs(self.model, batch.inputs))
        objective, nll = self.objective(batch)
        if self._logs():
            self.log_dict({"train/objective": objective, "train/nll": nll})
        window = self.trainer.accumulate_grad_batches
        batches = min(window, self._batches_in_epoch() - batch_idx // window * window)
        # Lightning divides by `window`, also in the last step of an epoch, which may have fewer
        return objective if batches == window else objective * (window / batches)

    def _batches_in_epoch(self) -> int:
        """Return the number of batches of the current epoch that this process trains on."""
        loader: Any = self.trainer.train_dataloader
        # Lightning fixes the first number at the start, but later epochs may have fewer batches
        return min(int(self.trainer.num_training_batches), len(loader))

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: int | float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip gradients as the trainer is configured, also with a fused optimiser.

        In mixed precision, Lightning refuses to clip for a fused optimiser, because such an
        optimiser can unscale gradients itself. `LayerGradients` has already unscaled them, so
        clipping them is correct.
        """
        gradients = self.gradients
        if not (gradient_clip_val and getattr(optimizer, "_step_supports_amp_scaling", False)):
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)
        elif gradient_clip_algorithm == "value":
            torch.nn.utils.clip_grad_value_(gradients.parameters, gradient_clip_val)
        else:
            torch.nn.utils.clip_grads_with_norm_(
                gradients.parameters, gradient_clip_val, gradients.total
            )

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Log the gradient norm and the learning rate; let the optimiser change no weight if a
        gradient is not finite on any device.
        """
        norm = self.gradients.total  # the callback has computed it from the same gradients
        if self._logs():
            rate = torch.tensor(optimizer.param_groups[0]["lr"], dtype=torch.float64)
            self.log_dict({"train/gradient_norm": norm, "train/lr": rate})
        self._note_failure(norm)
        if process.uses_cpu_path(self.device) or self._logs():
            self._end_if_diverged()
        masks = getattr(optimizer, "_step_supports_amp_scaling", False)
        if masks and not process.uses_cpu_path(self.device):
            optimizer.found_inf = self.failed  # type: ignore[attr-defined]
        elif self.diverged:  # an optimiser skips parameters without a gradient
            optimizer.zero_grad()

    def _note_failure(self, norm: Tensor) -> None:
        """Set `failed` to 1 if the norm of the gradient is not finite on any device.

        In `16-mixed` precision, a scale of the loss above 1 that is too large is no divergence:
        Lightning leaves out the step and reduces the scale.
        """
        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        if scaler is not None:
            norm = norm.masked_fill(scaler._get_scale_async() > 1, 0.0)
        # infinity times 0 is NaN
        self.failed = torch.add(self.failed.to(norm), norm, alpha=0).nan_to_num_(nan=1.0).float()
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(self.failed, torch.distributed.ReduceOp.MAX)
        self._unread.append(self.failed)

    def _end_if_diverged(self) -> None:
        if self.diverged:
            self.trainer.should_stop = True
        else:
            self._unread.clear()

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: torch.optim.Optimizer | LightningOptimizer,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """Update the weights and free the gradients, which Lightning would keep during the next
        forward pass.
        """
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        optimizer.zero_grad()

    def optimizer_zero_grad(
        self, epoch: int, batch_idx: int, optimizer: torch.optim.Optimizer
    ) -> None:
        """Do nothing, because `optimizer_step` has freed the gradients."""

    def fix_weights(self) -> None:
        """Let all evaluations after training use the same weights, whatever callbacks of the user
        do: a callback such as an average of weights may swap them for an evaluation.

        The first call keeps the current weights, and later calls load them again.
        """
        if self._fixed is not None:
            self.load_state_dict(self._fixed)
        elif self.job.callbacks:
            self._fixed = {name: value.clone() for name, value in self.state_dict().items()}

    def load_initial(self) -> None:
        """Load the weights from before the first training step, for all evaluations that follow."""
        self.model.load_state_dict(make_model(self.job, self.data).state_dict())
        self._fixed = None

    @property
    def evaluation(self) -> Evaluation:
        """The module that computes the scores of validation or of the tested split."""
        return self.evaluations["test" if self.trainer.testing else "validation"]

    def on_validation_epoch_start(self) -> None:
        """Prepare an evaluation for a split: move its sums to the model's device, reset them (they
        may have values of an earlier split), and pass it the texts of the split.
        """
        if self.trainer.state.fn == TrainerFn.FITTING:
            self._end_if_diverged()
        else:
            self.fix_weights()  # callbacks have just swapped theirs in
        text = text_of(self.data, self.split if self.trainer.testing else "validation")
        self.evaluation.to(self.device).begin(text)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Score the references of a batch, and the translations that the search outputs."""
        if len(batch.lines):
            search = self.job.search if self.trainer.testing else self.job.validation_search
            self.evaluation.update(self.model, batch, search)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of validation, such as val/nll, or of the tested split."""
        testing = self.trainer.testing
        prefix = self.split if testing else "val"
        scores = {f"{prefix}/{name}": value for name, value in self.evaluation.compute().items()}
        self.measured.update(scores)
        self.validated = self.validated if testing else self.global_step
        # Every process has the same totals, so Lightning need not reduce them.
        self.log_dict(
            {
                name: torch.tensor(value, dtype=torch.float32, device=self.device)
                for name, value in scores.items()
            },
            prog_bar=not testing,
        )

    on_test_epoch_start = on_validation_epoch_start
    test_step = validation_step
    on_test_epoch_end = on_validation_epoch_end

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the values that a resumed run needs beside the weights."""
        checkpoint["training"] = (self.diverged, self.measured, self.validated)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the values that `on_save_checkpoint` has added."""
        diverged, self.measured, self.validated = checkpoint["training"]
        self.failed = torch.tensor(float(diverged))

    def _logs(self) -> bool:
        """Return whether the trainer logs metrics at this training step.

        Lightning ignores metrics of other steps. They are not even passed to Lightning, because
        logging a value takes as long as a layer norm.
        """
        every: int = self.trainer.log_every_n_steps  # type: ignore[attr-defined] # its connector's
        return bool(every) and (self.trainer.global_step + 1) % every == 0


def text_of(data: TextData, split: str) -> Text:
    """Return the references of a split, and further data that scores need."""
    return Text(data.tokenizers, data.references(split), data.length(split))

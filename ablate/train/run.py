"""Perform a run from a job: prepare the data, build the model, train, test, and write the
results.

With `budget.short`, a run also gives the result of a run of only `budget.short` steps. The shorter
run has its own folder and its own identity (a digest of its config), as if its config had that
number of steps. As long as both runs would have the same weights and optimiser state, the shorter
run saves its state for the longer run. The longer run continues from that state with the results
that it would have had on its own. The learning rates determine how many steps the two runs share:
under an inverse square root or a constant learning rate, all steps of the shorter run; under a
schedule with a stable phase, the steps until the decay; under a cosine, the steps until the end of
the warm-up.
"""

import shutil
from typing import Any, cast

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback, Checkpoint
from pytorch_lightning.trainer.states import TrainerFn

from ablate.config.settle import SHORT
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.model import Model
from ablate.model.layers import choose_products
from ablate.optimizer import Schedule, make_optimizer
from ablate.process import keep_memory, seed_dropout, seed_of
from ablate.record.files import load_weights, read_tensors, write_tensors
from ablate.record.results import Result
from ablate.record.training import Record
from ablate.train.apply import evaluate, separator_of
from ablate.train.checkpoints import (
    OWN,
    Interruption,
    StateKeeper,
    WeightKeeper,
    last_saved,
    state_path,
)
from ablate.train.job import (
    Job,
    check_inputs,
    check_lengths,
    make_model,
    parameters,
    precision_plugin,
    prepare_data,
)
from ablate.train.module import Training
from ablate.train.resolve import make_trainer
from ablate.train.tracking import Tracking, announce, check_loggers, introduce

ENOUGH_STEPS = 50  # steps of a study's run that may collapse; of other runs: SHORT


def run(job: Job, continuation: tuple[Job, Record] | None = None) -> Result:
    """Train and test a run, skip each phase whose result is already stored in the run's folder, and
    return the final result.

    An interrupted run continues where it stopped. If `budget.short` is set, the shorter run is
    executed first, and its result is returned under the key "short". With `trainer.fast_dev_run`,
    the run stores nothing (`try_out`).

    Args:
        job: the job, as `ablate.train.resolve` returns it.
        continuation: the job and the record of the run that will continue from the state of this
            run.

    Raises:
        UserError: the data cannot be used by the job.
        SystemExit: the process was asked to end; the next call continues.
    """
    check_loggers(job)
    torch.set_num_threads(job.config.threads)
    choose_products(job.config.products)
    data = prepare_data(job)
    check_inputs(job, data)
    keep_memory()
    introduce(job, data)
    record = Record(job.config, data.fingerprints, job.initial.fingerprint())
    if job.config.trainer.get("fast_dev_run") and job.probe is None:
        return try_out(job, data, record)
    record.about = {"corpus": data.about, "separator": separator_of(job)}
    with Interruption() as interruption, record.locked():
        more: dict[str, object] = {}
        if job.short:
            more["short"] = run(job.short, (job, record))
        result = None if job.config.fresh else record.stored_result()
        reused, trained = result is not None, False
        if result is None:
            states: list[Callback] = [StateKeeper(record, interruption)]
            states += [HandOver(job, record, *continuation)] if continuation else []
            result, trained = perform(job, data, record, states)
    if record.logger_failures:
        more["logger_failures"] = record.logger_failures
    return cast(Result, {**result, "reused": reused, "trained": trained, **more})


def try_out(job: Job, data: TextData, record: Record) -> Result:
    """Train, validate and test a new model with as many batches as `trainer.fast_dev_run` says.

    Nothing is stored or logged; the returned outcome has the scores of the last test.
    """
    task = Training(job, make_model(job, data), data)
    trainer = make_trainer(job, Tracking({}, record), [])
    seed_dropout(seed_of(job.config), trainer.global_rank)
    trainer.fit(task, datamodule=data)
    for task.split in job.config.test_splits:
        trainer.test(task, dataloaders=data.evaluation_loader(task.split))
    return Result(
        status="finished", metrics={**task.measured}, seconds={}, reused=False, trained=True
    )


def perform(
    job: Job, data: TextData, record: Record, states: list[Callback]
) -> tuple[Result, bool]:
    """Train, unless an earlier process did, and test; or apply a probe to the untrained model.

    Returns:
        The result of training and test, and whether this process has trained.
    """
    model = make_model(job, data)
    check_lengths(job, model, data)
    if job.probe is None:
        # raises UserError for an unsuitable model before the record exists
        make_optimizer(job.optimizer, model)
    trained, step = begin(record, model)
    with Tracking(job.loggers, record) as tracking:
        if job.probe is not None:
            with record.phase("probe"):
                values = job.probe(model)
            metrics = {f"probe/{name}": value for name, value in values.items()}
            result = record.finish("finished", metrics | {"parameters": parameters(model)})
            return record.whole(result, None), True
        task, weights = Training(job, model, data), WeightKeeper(record)
        trainer = make_trainer(job, tracking, [weights, *states])
        result = trained or train(task, trainer, weights, tracking, step)
        tested = evaluate(job, trainer, task, record) if record.evaluates(result) else None
        return record.whole(result, tested), trained is None


def begin(record: Record, model: Model) -> tuple[Result | None, int]:
    """Open the folder of a run, and return what an earlier process left there: the result of its
    finished training, or None, and the step of its last saved state, or 0.

    If an earlier process trained the run, its weights are loaded into `model`.
    """
    fresh = record.config.fresh
    trained = None if fresh else trained_before(record, model)
    saved = None if fresh or trained else last_saved(record)
    record.resumed = bool(trained or saved)
    if trained:
        record.drop_checkpoints()
    elif saved:
        record.resume(saved["metrics"], saved["wall_seconds"])
    else:
        record.begin()
    return trained, saved["step"] if saved else 0


def trained_before(record: Record, model: Model) -> Result | None:
    """Load the weights that an earlier process trained, and return the result of that training;
    None if there are no usable weights.
    """
    trained = record.result()
    if trained is None:
        return None
    # before the weights are loaded, so that float64 values are not rounded to float32
    precision_plugin(record.config.trainer.precision, "cpu").convert_module(model)
    try:
        load_weights(model, record.weights, trained["weights"])
    except UserError as error:
        if record.writes:
            print(f"{error}: the run trains again", flush=True)
        return None
    record.weights_digest = trained["weights"]
    return trained


def train(
    task: Training, trainer: pl.Trainer, weights: WeightKeeper, tracking: Tracking, step: int
) -> Result:
    """Train and validate the model, choose the weights to test, store them, and write the
    result.

    `step` is the step of the saved state from which training continues, or 0.
    """
    record, data, model = tracking.record, task.data, task.model
    announce(data, record, step)
    seed_dropout(seed_of(record.config), trainer.global_rank)
    with record.phase("training"):
        trainer.fit(task, datamodule=data, ckpt_path=state_path(record) if step else None)
    record.seconds["training"] -= tracking.validating
    record.seconds["validation"] = tracking.validating
    metrics = {
        **data.unigram(*task.task.metrics),
        "parameters": parameters(model),
        "steps": task.steps,
        **task.theoretical_scores,
        **task.gradients.metrics(),
        **task.sublayers.metrics(),
    }
    if task.diverged:
        return record.finish("diverged", metrics)
    trainer.strategy.barrier()  # the first process writes the weights, and all load them
    try:
        replaced = weights.load_weights_to_test(task, trainer.global_step)
    except UserError:
        record.drop_checkpoints()  # the next call must train them again
        raise
    if replaced:
        task.fix_weights()
    with record.phase("validation"):
        # the user's callbacks, such as an average of weights, may replace weights after training
        if replaced or task.job.callbacks or task.validated != trainer.global_step:
            trainer.validate(task, datamodule=data, verbose=False)
            task.fix_weights()
    with record.phase("pictures"):
        tracking.show(task)
    record.keep(model.state_dict(), data.tokenizers.save)
    metrics = {**task.measured, **metrics}
    # a run with fewer steps has had no time to learn, so it has not collapsed
    enough = SHORT if record.config.batch.scored_tokens else ENOUGH_STEPS
    collapsed = trainer.global_step >= enough and not metrics["val/nll"] < data.unigram_nll
    return record.finish("collapsed" if collapsed else "finished", metrics)


def shared_steps(longer: Job, shorter: Job) -> int:
    """Return the largest number of steps after which a longer and a shorter run have equal states.

    The number is 0 if their configs differ in more than the number of steps.
    """
    if _beside_the_length(longer.config) != _beside_the_length(shorter.config):
        return 0
    return _steps_in_common(longer.schedule, shorter.schedule, shorter.config.budget.steps)


def _beside_the_length(config: DictConfig) -> Any:
    tree: Any = OmegaConf.to_container(config, resolve=True)
    tree["budget"] |= {"steps": None, "short": None}
    tree["trainer"] |= {"max_steps": None}
    return tree | {"schedule": None}


def _steps_in_common(first_schedule: Schedule, second_schedule: Schedule, steps: int) -> int:
    """Return the largest number of steps, at most `steps`, after which two runs with these
    schedules have equal states.

    A saved state also contains the learning rate of the next step, so that rate must be equal too.
    """
    apart = (step for step in range(1, steps + 2) if first_schedule(step) != second_schedule(step))
    return max(0, next(apart, steps + 2) - 2)


class HandOver(Checkpoint):
    """A callback that copies the state of a run to a longer run, after each validation at a step
    that the two runs share.

    (Lightning calls a `Checkpoint` after other callbacks, and several of them in their order. So
    `StateKeeper` has saved the state before this callback is called.)
    """

    def __init__(self, job: Job, record: Record, longer_job: Job, longer: Record) -> None:
        self.record, self.longer = record, longer
        alone = longer.config.fresh or longer.result()
        saved = None if alone else last_saved(longer)
        shared = 0 if alone else shared_steps(longer_job, job)
        self.steps = range(saved["step"] + 1 if saved else 1, shared + 1)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Copy the saved state of this run to the longer run, if both runs share this step.

        Nothing is copied if the longer run is already beyond this step, or if no state was saved at
        this step because gradients were pending.
        """
        step, record, longer = trainer.global_step, self.record, self.longer
        if trainer.state.fn != TrainerFn.FITTING or not record.writes or step not in self.steps:
            return
        state, _ = read_tensors(state_path(record))
        if state[OWN]["step"] == step:
            longer.clear()
            without_state = shutil.ignore_patterns(state_path(record).name)
            shutil.copytree(record.checkpoints, longer.checkpoints, ignore=without_state)
            state[OWN]["identity"] = longer.identity
            write_tensors(state_path(longer), state)

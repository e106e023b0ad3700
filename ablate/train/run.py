"""Perform a run from a job: prepare the data, build the model, train, test, and write the
results.
"""

from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import Callback

from ablate.config.settle import SHORT
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.hardware import keep_memory
from ablate.model.base import Model
from ablate.model.linear import choose_products
from ablate.optimizer import make_optimizer
from ablate.record.files import load_weights
from ablate.record.results import Outcome, Result
from ablate.record.training import Record
from ablate.seeding import seed_dropout, seed_of
from ablate.train.apply import evaluate, separator_of
from ablate.train.compatibility import check_inputs, check_lengths
from ablate.train.job import Job, make_model, parameters, precision_plugin, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import make_trainer
from ablate.train.resume import Interruption, RunState, StateKeeper, last_saved, state_path
from ablate.train.tracking import Pace, Tracking, announce, check_loggers, conclude, introduce
from ablate.train.weights import HandOver, Longer, WeightKeeper

ENOUGH_STEPS = 50  # steps of a study's run that may collapse; of other runs: SHORT


def run(job: Job, longer: Longer | None = None) -> Outcome:
    """Perform the steps of a run whose results are not in its folder yet; return the final result.

    An interrupted run continues where it stopped. A trained run is only tested. If `budget.short`
    is set, the run of this shorter length comes first, and the outcome has its result under the key
    "short". With `trainer.fast_dev_run`, the run stores nothing (`try_out`).

    Args:
        job: the job, as `ablate.train.resolve` returns it.
        longer: the longer run that will continue from the state of this run.

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
        short = run(job.short, Longer(job, record)) if job.short else None
        if not job.config.fresh and (earlier := record.stored_result()):
            return conclude(record, earlier, short, reused=True, trained=False)
        model = make_model(job, data)
        check_lengths(job, model, data)
        if job.probe is not None:
            result, trained = measure_untrained(job, model, record), True
        else:
            states: list[Callback] = [StateKeeper(record, interruption)]
            states += [HandOver(job, record, longer)] if longer else []
            result, trained = train_and_test(job, model, data, record, states)
    return conclude(record, result, short, reused=False, trained=trained)


def try_out(job: Job, data: TextData, record: Record) -> Outcome:
    """Train, validate and test a new model with as many batches as `trainer.fast_dev_run` says.

    Nothing is stored or logged; the returned outcome has the scores of the last test.
    """
    task = Training(job, make_model(job, data), data)
    trainer = make_trainer(job, Tracking({}, record), [Pace(record)])
    seed_dropout(seed_of(job.config), trainer.global_rank)
    trainer.fit(task, datamodule=data)
    for task.split in job.config.test_splits:
        trainer.test(task, dataloaders=data.evaluation_loader(task.split))
    return Outcome(
        status="finished", metrics={**task.measured}, seconds={}, reused=False, trained=True
    )


def begin(record: Record, model: Model) -> tuple[Result | None, RunState | None]:
    """Open the folder of a run, and return what an earlier process left there: the result of its
    finished training, or its last saved state, or neither.

    If an earlier process trained the run, its weights are loaded into `model`.
    """
    fresh = record.config.fresh
    trained = None if fresh else trained_before(record, model)
    saved = None if fresh or trained else last_saved(record)
    record.resumed = bool(trained or saved)
    if trained:
        record.current = record.evaluation
        record.drop_checkpoints()
    elif saved:
        record.resume(saved["metrics"], saved["wall_seconds"])
    else:
        record.begin()
    return trained, saved


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


def measure_untrained(job: Job, model: Model, record: Record) -> Result:
    """Apply the probe of a job to the untrained model, and write its values as the run's result."""
    assert job.probe is not None
    with record:
        begin(record, model)
        with Tracking(job.loggers, record):
            with record.phase("probe"):
                values = job.probe(model)
            metrics = {f"probe/{name}": value for name, value in values.items()}
            result = record.finish("finished", metrics | {"parameters": parameters(model)})
            return record.whole(result, None)


def train_and_test(
    job: Job, model: Model, data: TextData, record: Record, states: list[Callback]
) -> tuple[Result, bool]:
    """Train, unless an earlier process did, and test.

    Returns:
        The result of training and test, and whether this process has trained.
    """
    # raises UserError for an unsuitable model before the record exists
    make_optimizer(job.optimizer, model)
    with record:
        trained, saved = begin(record, model)
        with Tracking(job.loggers, record) as tracking:
            task = Training(job, model, data)
            checkpoint: Any = OmegaConf.to_object(job.config.checkpoint)
            weights = WeightKeeper(record.checkpoints, checkpoint, writes=record.writes)
            pace = Pace(record)
            trainer = make_trainer(job, tracking, [weights, *states, pace])
            result = trained or train(task, trainer, weights, pace, tracking, saved)
            tested = evaluate(job, trainer, task, record) if record.evaluates(result) else None
            return record.whole(result, tested), trained is None


def train(
    task: Training,
    trainer: pl.Trainer,
    weights: WeightKeeper,
    pace: Pace,
    tracking: Tracking,
    saved: RunState | None,
) -> Result:
    """Train and validate the model, choose the weights to test, store them, and write the
    result.
    """
    record, data, model = tracking.record, task.data, task.model
    announce(record.config, data, record, step=saved["step"] if saved else 0)
    seed_dropout(seed_of(record.config), trainer.global_rank)
    with record.phase("training"):
        trainer.fit(task, datamodule=data, ckpt_path=state_path(record) if saved else None)
    record.seconds["training"] -= pace.validating
    record.seconds["validation"] = pace.validating
    metrics = {
        **data.unigram(*task.task.metrics),
        "parameters": parameters(model),
        "steps": task.steps,
        **task.levels,
        **task.gradients.metrics(),
        **task.sublayers.metrics(),
    }
    if task.diverged:
        return record.finish("diverged", metrics)
    trainer.strategy.barrier()  # the first process writes the weights, and all load them
    try:
        replaced = weights.load_tested(task, trainer.global_step)
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
    record.keep_weights(model.state_dict())
    record.keep_tokenizers(data.tokenizers.save)
    metrics = {**task.measured, **metrics}
    # a run with fewer steps has had no time to learn, so it has not collapsed
    enough = SHORT if record.config.batch.scored_tokens else ENOUGH_STEPS
    collapsed = trainer.global_step >= enough and not metrics["val/nll"] < data.unigram_nll
    return record.finish("collapsed" if collapsed else "finished", metrics)

"""Check every run of a sweep before the first run trains.

Every arm is built, only factors and declared nuisance parameters differ between the arms of a
study, runs measure the metrics of the claims, and arms train differently.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf

from ablate.config import is_below, leaves, place
from ablate.config.screen import FACTOR
from ablate.config.study import Levels, Study
from ablate.data import EOS, PAD
from ablate.data.batching import Batch, Ids
from ablate.data.module import TextData
from ablate.errors import UserError, suggestion
from ablate.evidence.outcome import UNSTABLE, VAL_NLL, threshold
from ablate.initial import weights_fingerprint
from ablate.metric import derived_names
from ablate.model import Model
from ablate.model.residual import Residual
from ablate.observe import NAMES
from ablate.optimizer import make_optimizer
from ablate.process import seed_dropout, seed_of
from ablate.record.results import SEEDS, Fingerprints, key
from ablate.record.training import Record
from ablate.sweep.cell import Cell, Overrides, first_of_each, plain_study, without_seed
from ablate.sweep.compose import Checked, check_apart
from ablate.task import Task
from ablate.train.job import Job, build_model, check_inputs, check_lengths, make_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.tracking import check_loggers, introduce

# Keys whose effect two training steps can show. Arms that differ in another key are not compared.
SEEN = ("model", "loss", "optimizer", "schedule", "budget.warmup")
# limit for the longest sentence, in tokens; number of steps at which schedules are compared
LONG, POINTS = 64, 64
LENGTHS = (12, 9, 7, 4, 3, 1)  # lengths of the sentences of the fixed batch
STEPS = 2
TRAINED = ("unigram_nll", "parameters", "steps")
KNOWN = tuple(f"{level}/{name}" for level in ("chance", "bound") for name in ("nll", "accuracy"))
STATES_WHILE_TRAINING = 3  # size of a checkpoint in weights: the weights and two Adam moments


class BuiltArm(NamedTuple):
    """The components and the data of an arm, and its model on torch's device "meta" (no values)."""

    job: Job
    data: TextData
    model: Model


def preflight(cells: list[Cell], screening: Sequence[Cell] = ()) -> Checked:
    """Check and build every arm on torch's device "meta", prepare its data, and check the disk
    space.

    Runs that differ only in their seed are checked once.

    Args:
        cells: the runs for the verdict, which must match the study.
        screening: the runs that tune a nuisance parameter.

    Raises:
        UserError: a run is invalid (the message names the first such run), the arms do not match
            the study, or the disk has too little space.
    """
    check_apart(cells)
    arms, builder = first_of_each(cells, _arm), Builder()
    count = Counter(id(cell.arm) for cell in (*cells, *screening))
    built: dict[int, BuiltArm] = {}  # by cell number
    needed = 0
    for cell in (*arms, *_representatives(screening)):
        with naming_run(cell):
            # the whole study is checked once, because all arms have the same study (`check_arms`)
            job = resolve(cell.run_config() if built else cell.task_config())
            if not built and cells:
                check_loggers(job)
            built[cell.number] = builder(job)
        kept = _kept_bytes(built[cell.number].model) * (2 if job.short else 1)
        needed += kept * count.pop(id(cell.arm), 0)
    # the arms of an exploratory study are what the command says, whatever else differs with them
    if cells and (study := cells[0].arm.study) is not None and not study.exploratory:
        check_arms(arms, plain_study(cells[0].config), built)
    if cells:
        largest = max(_kept_bytes(arm.model) for arm in built.values())
        needed += STATES_WHILE_TRAINING * largest
        _check_disk_space(Path(cells[0].arm.paths.results), needed)
    data = {text: data.fingerprints for text, data in builder.data.items()}
    return Checked(data, {number: arm.job for number, arm in built.items()})


class Builder:
    """Prepares the data of each arm, and its model on torch's device "meta". Arms with equal data
    settings share their data; if their model settings are equal, too, they share their model.
    """

    def __init__(self) -> None:
        self.data: dict[str, TextData] = {}  # by `data_key`
        self.models: dict[str, Model] = {}

    def __call__(self, job: Job) -> BuiltArm:
        """Return the data and the model of a job, after checking that they fit its config.

        Raises:
            UserError: the data cannot be used, or they do not fit the config.
        """
        text = data_key(job.config)
        new = text not in self.data
        if new:
            self.data[text] = prepare_data(job)
        data = self.data[text]
        job.task.begin(data.tokenizers)
        check_inputs(job, data)
        if new:
            introduce(job, data)
        key = text + _key(job.config, "model", "initial", "adapt")
        if key not in self.models:
            self.models[key] = _build(job, data)
        check_lengths(job, self.models[key], data)
        return BuiltArm(job, data, self.models[key])


@contextmanager
def naming_run(cell: Cell) -> Iterator[None]:
    """Add the number and the label of a run to the message of a UserError that is raised within the
    `with` block.
    """
    try:
        yield
    except UserError as error:
        raise UserError(f"cell {cell.number} ({cell.label}): {error}") from None


def _arm(cell: Cell) -> Overrides:
    return without_seed(cell.overrides)


def _representatives(screening: Sequence[Cell]) -> list[Cell]:
    """Return the runs that are checked on behalf of all runs that tune a nuisance parameter: a run
    for each value in the first arm, and one run of each other arm.
    """
    values = first_of_each([cell for cell in screening if cell.arm is screening[0].arm], _arm)
    return [*values, *first_of_each(screening, lambda cell: id(cell.arm))[1:]]


def _build(job: Job, data: TextData) -> Model:
    with torch.device("meta"):
        model = build_model(job, data)
        job.initial.check(model)
        job.adapt(model, seed_of(job.config))
    return model


def records_of(cells: Sequence[Cell], data: Mapping[str, Fingerprints]) -> Iterator[Record]:
    """Yield the `Record` of each run of an arm, which reads and writes the run's folder.

    All records share one config, whose seed is changed before each record is made, because copying
    the config takes a tenth of a second if the study is large.

    Args:
        cells: the runs of the arm.
        data: hashes of the data, by the key that `data_key` returns for the config of a run.
    """
    config = cells[0].bare_config()
    text, weights = data[data_key(config)], weights_fingerprint(config)
    for cell in cells:
        config.seed = cell.seed
        yield Record(config, text, weights)


def data_key(config: DictConfig) -> str:
    """Return a key that is equal for runs which read the same data in the same way."""
    return _key(config, "data", "tokenizer", "batch", "task")


def _key(config: DictConfig, *nodes: str) -> str:
    return json.dumps([OmegaConf.to_container(config[n], resolve=True) for n in nodes])


def _kept_bytes(model: Model) -> int:
    return sum(p.numel() * p.element_size() for p in model.parameters())


def _check_disk_space(results: Path, needed: int) -> None:
    results.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(results).free
    if needed > free:
        raise UserError(
            f"paths.results={results}: the sweep needs about {needed / 1e6:,.1f} MB, but only "
            f"{free / 1e6:,.1f} MB are free"
        )


def check_arms(cells: list[Cell], study: Study, built: Mapping[int, BuiltArm]) -> None:
    """Raise UserError unless the arms of a sweep match its study.

    Args:
        cells: one run of every arm.
        study: the study.
        built: the components of each arm, by number of its run.
    """
    arms = first_of_each(cells, lambda cell: key(cell.levels))
    _check_metrics(arms, study, built)
    _check_fixed(arms, study)
    compared = study["expect"] == "different" and not study.get("design")
    if compared and cells[0].arm.probe is None:
        _check_training(arms, study, built)


def _check_metrics(arms: list[Cell], study: Study, built: Mapping[int, BuiltArm]) -> None:
    """Raise UserError if a claim or the tuning uses a metric that no arm measures."""
    parts = (built[arm.number] for arm in arms)
    names = (metric_names(part.job, part.model) for part in parts)
    measured = set[str]().union(*names)
    for claim in study["claims"]:
        check_metric(f"study.claims, {claim['id']}: metric", claim["metric"], measured)
        if claim["control"]:
            check_metric(f"study.claims, {claim['id']}: control", claim["control"], measured)
    if study["tune"]:
        check_metric("study.tune.metric", study["tune"]["metric"], measured)


def metric_names(job: Job, model: Model) -> set[str]:
    """Return the names of all metrics that a run of this job with this model can have."""
    if job.probe is not None:
        return {"parameters", *(f"probe/{name}" for name in job.probe.measures)}
    layers = [name for name, _ in model.layers()]
    ratios = {f"{layer.partition('.')[0]}_ratio" for layer in layers}
    gradients = {
        f"gradient/{when}/{part}" for when in ("first", "last") for part in (*layers, *ratios)
    }
    scored = job.task.metrics
    tested = [*scored, *job.metrics]
    scores = {f"{split}/{name}" for split in job.config.test_splits for name in tested}
    validated = {f"val/{name}" for name, metric in scored.items() if metric.split == "val"}
    measured = {f"measure/{name}" for name in job.measure.measures} if job.measure else set()
    sublayers = NAMES if any(isinstance(part, Residual) for part in model.modules()) else ()
    seen = {*gradients, *sublayers, *measured}
    read = {*scores, *derived_names(scores), *validated}
    return {*TRAINED, *KNOWN, *UNSTABLE, *seen, *read}


def check_metric(key: str, metric: str, measured: set[str]) -> None:
    """Raise UserError for a metric that no run has; the message suggests the most similar metric.

    Args:
        key: the config key that names the metric, for the message.
        metric: the metric.
        measured: all metrics that runs have.
    """
    if metric in measured or (threshold(metric) and VAL_NLL in measured):
        return
    # without metrics of single layers
    shown = sorted(name for name in measured if not name[-1].isdigit())
    hint = suggestion(metric, sorted(measured))
    raise UserError(f"{key}={metric} is measured in no run; {hint}allowed is {', '.join(shown)}")


def _free_keys(study: Study) -> list[str]:
    """Return the config keys that may have different values in different runs of a study: the
    compared factors, nuisance parameters, keys by which arms are matched, and seeds.

    A key that is tuned is not included.
    """
    match = study.get("match")
    matched = [match["key"]] if match else []
    return [*study["factors"], *study["nuisance"], *matched, *SEEDS]


def _check_fixed(arms: list[Cell], study: Study) -> None:
    """Raise UserError if two arms differ in a config key that is neither factor nor nuisance."""
    free = [place(name) for name in _free_keys(study)]
    first, *others = (leaves(arm.bare_config()) for arm in arms)
    for arm, values in zip(arms[1:], others, strict=True):
        for name in first.keys() | values.keys():
            if first.get(name) != values.get(name) and not is_below(name, free):
                raise UserError(
                    f"the arms {arms[0].label} and {arm.label} differ in {name} as well "
                    f"({first.get(name)}, {values.get(name)}), which is neither a factor nor a "
                    "nuisance parameter of the study"
                )


def _check_training(arms: list[Cell], study: Study, built: Mapping[int, BuiltArm]) -> None:
    """Raise UserError if two arms have the same parameters after two training steps, and the same
    learning-rate schedule.

    Two arms are compared only if all levels in which they differ can affect two training steps.
    """
    alike: dict[str, list[Cell]] = {}
    for arm in arms:
        changes = _changes(arm, study).items()
        unseen = {key: level for key, level in changes if not place(key).startswith(SEEN)}
        alike.setdefault(json.dumps(unseen, default=str), []).append(arm)
    for comparable in alike.values():
        by_hash: dict[str, Cell] = {}
        for arm in comparable if len(comparable) > 1 else ():
            part = built[arm.number]
            equal_arm = by_hash.setdefault(trained_a_little(part.job, part.data), arm)
            if equal_arm is not arm:
                raise UserError(
                    f"the arms {equal_arm.label} and {arm.label} are the same after {STEPS} "
                    "training steps; set study.expect=identical if that is meant"
                )


def _changes(arm: Cell, study: Study) -> Levels:
    """Return the levels of an arm, by factor; in a screen, the overrides of the arm's variant.

    A screen is a study that compares many variants with one baseline.
    """
    screen = study.get("screen")
    return screen["variants"].get(str(arm.levels[FACTOR]), {}) if screen else arm.levels


def trained_a_little(job: Job, data: TextData) -> str:
    """Return a hash of the schedule and of all parameters after two steps on a fixed batch."""
    model = make_model(job, data)
    optimizer = make_optimizer(job.optimizer, model)
    factor = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda d: job.schedule(d + 1))
    sizes = data.tokenizers.src.size, data.tokenizers.tgt.size
    batch = fixed_batch(job.task, *sizes, data.longest("train")[1])
    counted = job.loss.counted(batch.targets)
    seed_dropout(seed_of(job.config), 0)
    for _ in range(STEPS):
        states = model(job.task.training_inputs(model, batch.inputs))[counted]
        targets = batch.targets[counted]
        objective, _ = model.head.score(job.loss, states, targets)
        optimizer.zero_grad()
        torch.autograd.backward(objective)
        optimizer.step()
        factor.step()
    values = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    return hashlib.sha256(values + json.dumps(_rate_factors(job)).encode()).hexdigest()


def _rate_factors(job: Job) -> list[float]:
    """Return the learning-rate factor at steps over the whole training, because two schedules may
    start alike.
    """
    steps = np.unique(np.linspace(1, job.config.budget.steps, POINTS).astype(int))
    return [float(job.schedule(int(step))) for step in steps]


def fixed_batch(task: Task, src_vocab: int, tgt_vocab: int, longest: int) -> Batch:
    """Return a batch of random sentences of different lengths, the same at every call.

    One sentence is as long as the longest in the corpus, up to a limit, because shorter sentences
    do not show the effect of an attention window.

    Args:
        task: the task, which makes a batch from the sentences.
        src_vocab: size of the source vocabulary.
        tgt_vocab: size of the target vocabulary.
        longest: length of the longest target sentence in the corpus, in tokens.
    """
    random = np.random.default_rng(0)
    lengths = np.array([max(LENGTHS[0], min(longest, LONG) - 1), *LENGTHS[1:]])
    columns = np.arange(max(lengths) + 1)

    def side(vocabulary: int, length: Ids) -> Ids:
        words = random.integers(EOS + 2, vocabulary, (len(lengths), len(columns)))
        return np.where(columns < length, words, np.where(columns == length, EOS, PAD))

    src, tgt = side(src_vocab, lengths[:, None]), side(tgt_vocab, lengths[::-1, None])
    return task.batch(src, tgt, np.arange(len(lengths)), np.random.default_rng)

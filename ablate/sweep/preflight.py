"""Check every run of a sweep before the first run trains."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from omegaconf import DictConfig, OmegaConf

from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.initial import weights_fingerprint
from ablate.model.base import Model
from ablate.record.files import check_writable
from ablate.record.training import Record
from ablate.record.types import Fingerprints
from ablate.seeding import seed_of
from ablate.sweep.apart import check_apart
from ablate.sweep.arms import Built, check_arms
from ablate.sweep.cell import Cell, Overrides, first_of_each, plain_study, without_seed
from ablate.sweep.planned import Checked
from ablate.train.compatibility import check_inputs, check_lengths
from ablate.train.job import Job, build_model, prepare_data
from ablate.train.output import introduce
from ablate.train.resolve import resolve
from ablate.train.tracking import check_loggers

# Size of a checkpoint in multiples of the weights: the weights and two Adam moments.
STATES_WHILE_TRAINING = 3


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
    built: dict[int, Built] = {}  # by cell number
    needed = 0
    for cell in (*arms, *_representatives(screening)):
        with naming(cell):
            # the whole study is checked once, because all arms have the same study (`check_arms`)
            job = resolve(cell.run_config() if built else cell.task_config())
        if not built and cells:
            check_loggers(job)
        with naming(cell):
            built[cell.number] = builder(job)
        kept = _kept_bytes(built[cell.number].model) * (2 if job.short else 1)
        needed += kept * count.pop(id(cell.arm), 0)
    # the arms of an exploratory study are what the command says, whatever else differs with them
    if cells and (study := cells[0].config.study) is not None and not study.exploratory:
        check_arms(arms, plain_study(cells[0].config), built)
    if cells:
        largest = max(_kept_bytes(arm.model) for arm in built.values())
        needed += _while_training(cells[0].config, largest)
        _check_disk_space(Path(cells[0].config.paths.results), needed)
    data = {text: data.fingerprints for text, data in builder.data.items()}
    return Checked(data, needed, {number: arm.job for number, arm in built.items()})


class Builder:
    """Prepares the data of each arm, and its model on torch's device "meta". Arms with equal data
    settings share their data; if their model settings are equal, too, they share their model.
    """

    def __init__(self) -> None:
        self.data: dict[str, TextData] = {}  # by `corpus`
        self.models: dict[str, Model] = {}

    def __call__(self, job: Job) -> Built:
        """Return the data and the model of a job, after checking that they fit its config.

        Raises:
            UserError: the data cannot be used, or they do not fit the config.
        """
        text = corpus(job.config)
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
        return Built(job, data, self.models[key])


@contextmanager
def naming(cell: Cell) -> Iterator[None]:
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


def record_of(cell: Cell, data: Mapping[str, Fingerprints]) -> Record:
    """Return the `Record` of a run, which reads and writes the run's folder.

    Args:
        cell: the run.
        data: hashes of the data, by the key that `corpus` returns for the config of a run.
    """
    return next(records_of([cell], data))


def records_of(cells: Sequence[Cell], data: Mapping[str, Fingerprints]) -> Iterator[Record]:
    """Yield the `Record` of each run of an arm, which reads and writes the run's folder.

    All records share one config, whose seed is changed before each record is made, because copying
    the config takes a tenth of a second if the study is large.

    Args:
        cells: the runs of the arm.
        data: hashes of the data, by the key that `corpus` returns for the config of a run.
    """
    config = cells[0].bare_config()
    text, weights = data[corpus(config)], weights_fingerprint(config)
    for cell in cells:
        config.seed = cell.seed
        yield Record(config, text, weights)


def corpus(config: DictConfig) -> str:
    """Return a key that is equal for runs which read the same data in the same way."""
    return _key(config, "data", "tokenizer", "batch", "task")


def _key(config: DictConfig, *nodes: str) -> str:
    return json.dumps([OmegaConf.to_container(config[n], resolve=True) for n in nodes])


def _kept_bytes(model: Model) -> int:
    return sum(p.numel() * p.element_size() for p in model.parameters())


def _while_training(config: DictConfig, largest: int) -> int:
    """Return the disk space in bytes that the checkpoints of a run occupy until the run ends, in
    addition to its final weights.

    Args:
        config: the config of a run.
        largest: size in bytes of the weights of the largest model of the sweep.
    """
    checkpoint = config.checkpoint
    kept = min(checkpoint.average, config.budget.steps // checkpoint.every)
    averaged = kept if checkpoint.tested == "average" else 0
    return largest * int(STATES_WHILE_TRAINING + averaged)


def _check_disk_space(results: Path, needed: int) -> None:
    for folder in (results, results / "runs", results / "locks"):
        if folder == results or folder.exists():
            check_writable(folder)
    free = shutil.disk_usage(results).free
    if needed > free:
        raise UserError(
            f"paths.results={results}: the sweep needs about {needed / 1e6:,.1f} MB, but only "
            f"{free / 1e6:,.1f} MB are free"
        )

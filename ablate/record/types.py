"""What a run and a cell of a sweep leave: result.json, environment.json, cells/NUMBER.json.

They are plain dictionaries with a declared form, as they lie in files.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NotRequired, TypedDict

from ablate.config.study import Levels as Levels

Metrics = dict[str, int | float | None]  # by name; null: not finite


class Composition(TypedDict):
    """How Hydra composed a config."""

    swept: bool  # as a cell of a sweep
    choices: dict[str, str | None]  # the option of every config group
    overrides: list[str]


class Fingerprints(NamedTuple):
    """Hashes of the text of a run.

    `training` stands for what training and validation read. `tests` has for every split what a test
    of it reads beyond that; a split whose test reads nothing more is left out.
    """

    training: str
    tests: Mapping[str, str]


class TrainingParts(TypedDict):
    """What the identity of a training is made of."""

    config: dict[str, Any]
    data: str  # hash of the text that training reads
    device: str
    libraries: dict[str, str]
    modules: dict[str, str]  # hashes of sources
    initial: NotRequired[str]
    bleu: NotRequired[str]


class EvaluationParts(TypedDict):
    """What the identity of an evaluation is made of."""

    config: dict[str, Any]
    training: str
    modules: dict[str, str]
    data: NotRequired[dict[str, str]]  # hashes of what tests read, by split


class Environment(TypedDict):
    """What the numbers of a run were made with."""

    command: list[str]
    python: str
    machine: str
    system: str
    processor: str
    cores: int | None
    commit: str | None  # of this package's source (ablate.record.commit)
    packages: dict[str, str]  # versions
    composition: NotRequired[Composition]  # not in older records
    corpus: NotRequired[str]  # files and size; not in older records


class Ended(TypedDict):
    """What became of a run: all that is sure to be known where an error has ended it."""

    status: str
    error: NotRequired[str]
    evaluation: NotRequired[str]  # folder of the evaluation, if there is one


class Failure(Ended):
    """What is said of a run that an error ended, before its record says it."""

    metrics: Metrics
    seconds: dict[str, float]


class Measured(Ended):
    """What training or an evaluation of it has found."""

    identity: str
    metrics: Metrics
    seconds: dict[str, float]  # by phase
    wall_seconds: float
    processor_seconds: NotRequired[float | None]  # of all threads; not in older records
    ended: float  # unix time
    weights: str | None  # SHA-256 of those that are tested; null: they are not kept
    seed: NotRequired[int]  # of training
    signatures: NotRequired[dict[str, str]]  # of the scores, by metric


class Result(Measured):
    """The result.json of a training or of an evaluation, without its seal."""

    files: dict[str, str]  # SHA-256 by name


class Whole(Measured):
    """The results of a training and of its evaluation as one."""

    training: str  # identity
    folder: str  # of the training


class Shorter(TypedDict, total=False):
    """What became of a run at its short budget, if it has one."""

    short: "Outcome"


class Outcome(Whole, Shorter):
    """What a run returns: its results, and what of them is new."""

    reused: bool
    trained: bool


class Tuned(TypedDict):
    """What a run chose of a nuisance."""

    key: str
    value: Any


class Cell(TypedDict):
    """Which cell of a sweep it is."""

    cell: int
    seed: int
    levels: Levels
    overrides: list[str]
    study: NotRequired[str]  # hash of the form of the study that it was started under
    matched: NotRequired[Levels]
    tuned: NotRequired[Tuned]


class Link(Cell, Ended):
    """A cell of a sweep with what became of it: the keys of its `Outcome`, unless it failed."""

    identity: NotRequired[str]
    metrics: NotRequired[Metrics]
    wall_seconds: NotRequired[float]
    ended: NotRequired[float]
    training: NotRequired[str]
    folder: NotRequired[str]
    reused: NotRequired[bool]
    short: NotRequired[Outcome]

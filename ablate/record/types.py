"""Define the contents of result.json, environment.json and cells/NUMBER.json as typed
dictionaries.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NotRequired

from typing_extensions import TypedDict

from ablate.config.study import Levels as Levels

Metrics = dict[str, int | float | None]  # by name; None means not finite


class Fingerprints(NamedTuple):
    """Hashes of the text that a run reads.

    `training` covers the text for training and validation. `tests` covers, for each split,
    additional text that a test reads. A split without such text is left out.
    """

    training: str
    tests: Mapping[str, str]


class TrainingParts(TypedDict):
    """Everything on which the identity of a training run, a hash, depends."""

    config: dict[str, Any]
    data: str  # hash of the text that training reads
    device: str
    libraries: dict[str, str]
    modules: dict[str, str]  # hashes of the source, by module
    initial: NotRequired[str]
    bleu: NotRequired[str]


class EvaluationParts(TypedDict):
    """Everything on which the identity of an evaluation, a hash, depends."""

    config: dict[str, Any]
    training: str
    modules: dict[str, str]
    data: NotRequired[dict[str, str]]  # hashes of the text that tests read, by split


class Environment(TypedDict):
    """The command, machine and versions that produced the numbers of a run."""

    command: list[str]
    python: str
    machine: str
    system: str
    processor: str
    instructions: NotRequired[str]  # instruction set of torch's kernels; not in older records
    cores: int | None
    commit: str | None  # of this package's source (ablate.record.environment)
    packages: dict[str, str]  # versions
    corpus: NotRequired[str]  # files and size; not in older records


class OutcomeBase(TypedDict):
    """The keys that the outcomes of finished and of failed runs share."""

    status: str
    error: NotRequired[str]
    evaluation: NotRequired[str]  # folder of the evaluation, if it exists


class Failure(OutcomeBase):
    """The outcome of a run that raised an exception, before it is written to disk."""

    metrics: Metrics
    seconds: dict[str, float]


class Measured(OutcomeBase):
    """The keys that the result of a training and the result of an evaluation share."""

    identity: str
    metrics: Metrics
    seconds: dict[str, float]  # by phase
    wall_seconds: float
    ended: float  # unix time
    weights: str | None  # SHA-256 of the tested weights; null if they were not saved
    seed: NotRequired[int]  # training only
    signatures: NotRequired[dict[str, str]]  # settings of each score, by metric


class Result(Measured):
    """The result.json of a training or of an evaluation, without the digest that seals the file."""

    files: dict[str, str]  # SHA-256 by name


class CombinedResult(Measured):
    """The combined result of a training and its evaluation."""

    training: str  # identity of the training
    folder: str  # folder of the training


class Outcome(CombinedResult):
    """The result that a run returns, and whether it was reused or newly trained."""

    reused: bool
    trained: bool
    # of the run at its short budget, a smaller number of steps after which it was tested as well
    short: NotRequired["Outcome"]


class Tuned(TypedDict):
    """The value that a run uses for a tuned nuisance parameter, and the parameter's config key."""

    key: str
    value: Any


class Cell(TypedDict):
    """The number, seed, levels and overrides that identify one run of a sweep."""

    cell: int
    seed: int
    levels: Levels
    overrides: list[str]
    study: NotRequired[str]  # hash of the study under which the run was started
    matched: NotRequired[Levels]
    tuned: NotRequired[Tuned]


class Link(Cell, OutcomeBase):
    """A run of a sweep with its outcome, the content of cells/NUMBER.json."""

    identity: NotRequired[str]
    metrics: NotRequired[Metrics]
    wall_seconds: NotRequired[float]
    ended: NotRequired[float]
    training: NotRequired[str]
    folder: NotRequired[str]
    reused: NotRequired[bool]
    short: NotRequired[Outcome]

"""Define the contents of result.json, environment.json and cells/NUMBER.json as typed
dictionaries.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NotRequired

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


class IdentityParts(TypedDict):
    """Everything on which the identity of a training or of an evaluation, a hash, depends."""

    config: dict[str, Any]
    modules: dict[str, str]  # hashes of the source, by module
    data: str | dict[str, str]  # hash of the text that training reads, or tests, by split
    training: NotRequired[str]  # identity of the training; only in an evaluation
    device: NotRequired[str]
    libraries: NotRequired[dict[str, str]]
    initial: NotRequired[str]  # hash of the files with the initial weights
    bleu: NotRequired[str]  # how BLEU divides the target language into words


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
    separator: NotRequired[str | None]  # text between two documents, if there are documents


class Result(TypedDict):
    """The result of a training, of an evaluation or of both; of a failed run, its status and error.

    The file result.json has a digest of this content, too, which seals the file.
    """

    status: Literal["finished", "diverged", "collapsed", "failed"]
    error: NotRequired[str]
    identity: NotRequired[str]
    metrics: NotRequired[Metrics]
    seconds: NotRequired[dict[str, float]]  # by phase
    wall_seconds: NotRequired[float]
    ended: NotRequired[float]  # unix time
    weights: NotRequired[str | None]  # SHA-256 of the tested weights; null if they were not saved
    signatures: NotRequired[dict[str, str]]  # settings of each score, by metric
    files: NotRequired[dict[str, str]]  # SHA-256 by name; only in the file
    training: NotRequired[str]  # identity of the training
    folder: NotRequired[str]  # folder of the training
    evaluation: NotRequired[str]  # folder of the evaluation, if it exists


class Outcome(Result):
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


class Link(Cell, Result):
    """A run of a sweep with its outcome, the content of cells/NUMBER.json."""

    reused: NotRequired[bool]
    short: NotRequired[Outcome]

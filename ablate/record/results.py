"""Define the stored results of runs and sweeps (result.json, environment.json, cells/NUMBER.json),
and read them after checking the seal (a digest of the result in its file) and the digests of the
files that belong to the result.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from os.path import normpath, relpath
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict

from ablate.config.study import Levels
from ablate.errors import UserError
from ablate.record.files import SEAL, check_seal, digest_of, lies_in, seal, write_json
from ablate.record.label import value_text

RESULT = "result.json"
IDENTITY = "identity.json"  # file of a run or an evaluation: everything that determines its results
FOLDERS = ("folder", "evaluation")  # keys of an outcome
Metrics = dict[str, int | float | None]  # by name; None means not finite


class Fingerprints(NamedTuple):
    """Hashes of the text that a run reads.

    `training` covers the text for training and validation. `tests` covers, for each split,
    additional text that a test reads. A split without such text is left out.
    """

    training: str
    tests: Mapping[str, str]


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
    samples: NotRequired[list[str]]  # texts that a language model generated
    files: NotRequired[dict[str, str]]  # SHA-256 by name; only in the file
    training: NotRequired[str]  # identity of the training
    folder: NotRequired[str]  # folder of the training
    evaluation: NotRequired[str]  # folder of the evaluation, if it exists


class Outcome(Result):
    """The result that a run returns, and whether it was reused or newly trained."""

    reused: NotRequired[bool]
    trained: NotRequired[bool]
    logger_failures: NotRequired[list[str]]  # messages
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


class Link(Cell, Outcome):
    """A run of a sweep with its outcome, the content of cells/NUMBER.json."""


def digests(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of every file that matches a pattern, by its path within the folder."""
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): digest_of(path) for path in paths}


def read_sealed(path: Path) -> Any:
    """Return the object in a sealed file, without the seal.

    Raises:
        FileNotFoundError: the file does not exist.
        UserError: the file was changed after it was written.
    """
    record: Any = None
    with suppress(ValueError):
        record = json.loads(path.read_text(encoding="utf-8"))
    if not check_seal(record):
        raise UserError(f"{path} is damaged or was edited (its checksum does not match)")
    return {key: value for key, value in record.items() if key != SEAL}


def read_result(folder: Path, identity: str | None = None) -> Result | None:
    """Return the result in the folder of a training or an evaluation; None if there is none.

    All files that the result names are verified. Weights are not among them, because they are
    verified when they are loaded.

    Raises:
        UserError: the result or one of its files was changed after it was written, belongs to
            another `identity`, or is outside the folder.
    """
    try:
        result: Result = read_sealed(folder / RESULT)
    except FileNotFoundError:
        return None
    if identity is not None and result["identity"] != identity:
        raise UserError(
            f"{folder / RESULT} belongs to another run, {result['identity']}: remove the folder"
        )
    for name, digest in result["files"].items():
        path = folder / name
        if not lies_in(path, folder):
            raise UserError(f"{folder / RESULT} lists {name}, which is outside of {folder}")
        if not path.is_file() or digest_of(path) != digest:
            raise UserError(f"{path} is damaged or was edited: it has not the digest in {RESULT}")
    return result


def link_path(sweep: Path, number: int) -> Path:
    """Return the path of the file in which a sweep stores the outcome of run `number`."""
    return sweep / "cells" / f"{number:04d}.json"


def write_link(path: Path, link: Link) -> None:
    """Write the outcome of a run of a sweep to its file.

    The folders of the run are stored relative to the folder of the sweep, so that a results folder
    can be moved.
    """
    write_json(path, seal(_with_folders(link, lambda folder: relpath(folder, path.parents[1]))))


def read_link(path: Path) -> Link:
    """Return the outcome of a run of a sweep from its file.

    Raises:
        FileNotFoundError: the file does not exist.
        UserError: the file was changed after it was written.
    """
    link: Link = _with_folders(read_sealed(path), lambda folder: normpath(path.parents[1] / folder))
    return link


def _with_folders(outcome: Any, change: Callable[[str], str]) -> Any:
    """Return an outcome, also that of a short run in it, with other paths of its folders."""
    folders = {key: change(outcome[key]) for key in FOLDERS if key in outcome}
    short = {"short": _with_folders(outcome["short"], change)} if "short" in outcome else {}
    return {**outcome, **folders, **short}


def read_links(sweep: Path) -> list[Link]:
    """Return the outcomes of all runs of a sweep, in order of their numbers.

    Raises:
        UserError: a file was changed after it was written.
    """
    return [read_link(path) for path in sorted((sweep / "cells").glob("*.json"))]


def folders_of(link: Link) -> list[str]:
    """Return the folders of a run and of its evaluation, also of its short run."""
    ends: tuple[Any, ...] = (link, link.get("short", {}))
    return [end[key] for end in ends for key in FOLDERS if key in end]


def executed_source(link: Link) -> Iterator[tuple[str, str]]:
    """Yield each module that a run and its evaluation executed, and the hash of its source.

    Yield nothing for a failed run.
    """
    for folder in folders_of(link):
        parts = json.loads(Path(folder, IDENTITY).read_text(encoding="utf-8"))
        yield from parts["modules"].items()


def swept(runs: list[Link]) -> list[str]:
    """Return the factors whose level differs between runs."""
    keys = dict.fromkeys(itertools.chain.from_iterable(run["levels"] for run in runs))
    return [k for k in keys if len({value_text(run["levels"].get(k)) for run in runs}) > 1]

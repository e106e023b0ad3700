"""Several workers of one sweep: the same command, started several times on one results folder.

results/sweeps/<name>/<time>/sweep.json says which command began the sweep (`key`), how many cells
that makes, and, once it has ended, how many of them failed. As long as it is open, the same command
joins it: at the same time, or after a crash. What all workers must agree on is done by one of them,
under a lock: to begin, to decide what later cells are, to forget a failure, to end.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

from filelock import FileLock
from omegaconf import DictConfig, read_write

from ablate.config.location import PACKAGE
from ablate.errors import UserError
from ablate.evidence.registration import digest
from ablate.evidence.types import Regime
from ablate.record.files import seal, write_json
from ablate.record.sealed import read_sealed

STATE = "sweep.json"
# Overrides with which a worker may differ from the others.
OWN = ("n_jobs=", "engine", "logger", "paths.", "hydra.sweep.dir=")


class State(TypedDict):
    """What sweep.json says of a sweep."""

    key: str
    cells: int | None  # that are to run; null until all of them have
    failed: int | None  # null while it goes on


@contextmanager
def alone(config: DictConfig) -> Iterator[None]:
    """Keep out all other workers of sweeps of this name.

    Raises:
        UserError: the results folder takes nothing.
    """
    locks = Path(config.paths.results) / "locks"
    try:
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"sweep {config.name}.lock").acquire()
    except OSError as error:
        raise UserError(
            f"paths.results={config.paths.results}: cannot write there ({error.strerror})"
        ) from None
    with lock:
        yield


@contextmanager
def entering(config: DictConfig, regime: Regime) -> Iterator[bool]:
    """Settle hydra.sweep.dir, and say whether the sweep is new and is to be begun now.

    Raises:
        UserError: hydra.sweep.dir was given, and another command has begun a sweep there.
        SystemExit: hydra.sweep.dir was given, and its sweep has ended with all its runs.
    """
    own = key(config, regime)
    with alone(config):
        folder = _joined(config, own)
        with read_write(config.hydra):
            config.hydra.sweep.dir = str(folder or _free(Path(config.hydra.sweep.dir)))
        yield folder is None
        settled = Path(config.hydra.sweep.dir)
        known = state_of(settled) or State(key=own, cells=None, failed=None)
        _write(settled, {**known, "failed": None})


def key(config: DictConfig, regime: Regime) -> str:
    """16 hexadecimal digits over what a command asks for: its words, the config files, the code."""
    words = [*config.hydra.overrides.task, *config.hydra.overrides.hydra]
    asked = sorted(word for word in words if not word.lstrip("+~").startswith(OWN))
    sources = config.hydra.runtime.config_sources
    trees = [Path(source.path) for source in sources if source.schema == "file"]
    files = [digest_of_code(), *(_content(tree.rglob("*.yaml")) for tree in trees)]
    return digest([asked, regime, files])


def digest_of_code() -> str:
    """What stands for the source of this package."""
    return _content(PACKAGE.rglob("*.py"))


def _content(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.read_bytes())
    return found.hexdigest()


def _joined(config: DictConfig, own: str) -> Path | None:
    """The folder of the sweep that this command is a worker of, if it has begun."""
    given = Path(config.hydra.sweep.dir)
    if not any(word.startswith("hydra.sweep.dir=") for word in config.hydra.overrides.hydra):
        known = sorted((path.parent for path in given.parent.glob(f"*/{STATE}")), reverse=True)
        return next((folder for folder in known if _is_open(folder, own)), None)
    state = state_of(given)
    if state is None:
        return None
    if state["key"] != own:
        raise UserError(
            f"hydra.sweep.dir={given}: another command, or another version, has begun a sweep there"
        )
    if state["failed"] == 0:
        _say_that_it_has_ended(given)
        sys.exit(0)
    return given


def _is_open(folder: Path, own: str) -> bool:
    try:
        state = state_of(folder)
    except UserError:  # damaged: nobody goes on with it
        return False
    return state is not None and state["key"] == own and state["failed"] is None


def _free(folder: Path) -> Path:
    """The folder itself, or one beside it where another sweep began in the same second."""
    if not (folder / STATE).exists():
        return folder
    return _free(folder.with_name(f"{folder.name}_"))


def state_of(folder: Path) -> State | None:
    """What sweep.json says; None where no sweep has begun.

    Raises:
        UserError: it is damaged.
    """
    try:
        state: State = read_sealed(folder / STATE)
    except FileNotFoundError:
        return None
    return state


def _write(folder: Path, state: State) -> None:
    write_json(folder / STATE, seal(state))


def expect(config: DictConfig, cells: int) -> None:
    """Write down how many cells must have been run when the sweep ends; call it `alone`."""
    folder = Path(config.hydra.sweep.dir)
    state = state_of(folder)
    assert state is not None  # it has begun
    _write(folder, {**state, "cells": cells})


def once(config: DictConfig, path: Path, decide: Callable[[], Any]) -> Any:
    """Return what `decide` told the first worker, as plain data; it is kept in `path`.

    Raises:
        UserError: what was kept is damaged.
    """
    with alone(config):
        try:
            return read_sealed(path)["decided"]
        except FileNotFoundError:
            decided = json.loads(json.dumps(decide()))
            write_json(path, seal({"decided": decided}))
            return decided


def conclude(
    config: DictConfig,
    end: Callable[[DictConfig], int],
    show: Callable[[DictConfig], object] | None = None,
) -> int:
    """Have one worker end the sweep; return the number of its runs that failed.

    `show` prints the end of a sweep that another worker has ended; without it, the folder is named.
    """
    folder = Path(config.hydra.sweep.dir)
    with alone(config):
        state = state_of(folder)
        assert state is not None  # nobody removes it
        if state["cells"] is None:  # Hydra 1.4 calls this after an error too, which goes on
            return 0
        if state["failed"] is None:
            if len(list((folder / "cells").glob("*.json"))) < state["cells"]:
                print("Another worker tries cells again that had failed; it ends the sweep.")
                return 0
            failed = end(config)
            _write(folder, {**state, "failed": failed})
            return failed
    if show is None:
        _say_that_it_has_ended(folder)
    else:
        show(config)
    return int(state["failed"])


def _say_that_it_has_ended(folder: Path) -> None:
    print(f"Another worker has ended this sweep; its verdicts are in {folder}.")

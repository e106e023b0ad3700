"""Share a sweep between workers: the same command, started several times on a results folder.

results/sweeps/<name>/<time>/sweep.json has a hash of the command (`key`) and, once the sweep has
ended, the number of failures. While the sweep is open, the same command joins
it, at the same time or after a crash. Steps on which all workers must agree (starting, choosing
later runs, dropping a failure, ending) are done by one of them under a lock.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock
from omegaconf import DictConfig, read_write

from ablate.config.location import PACKAGE
from ablate.errors import UserError
from ablate.evidence.types import Regime
from ablate.record.files import check_writable, digest, seal, write_json
from ablate.record.results import read_sealed

STATE = "sweep.json"
# Overrides that may differ between workers.
OWN = ("n_jobs=", "engine", "logger", "paths.", "hydra.sweep.dir=")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # names such as mine.Part


def alone(config: DictConfig) -> AbstractContextManager[Any]:
    """Exclude other workers of all sweeps with the name `config.name` while a `with` block runs."""
    return FileLock(Path(config.paths.results) / "locks" / f"sweep {config.name}.lock")


def enter(config: DictConfig, regime: Regime) -> None:
    """Choose the folder of the sweep, and store it in hydra.sweep.dir.

    An open sweep of the same command is continued.

    Raises:
        UserError: hydra.sweep.dir was given, and another command has started a sweep there.
    """
    own_key = key(config, regime)
    check_writable(Path(config.paths.results) / "locks")
    with alone(config):
        folder = _folder(config, own_key)
        with read_write(config.hydra):
            config.hydra.sweep.dir = str(folder)
        write_json(folder / STATE, seal({"key": own_key, "failed": None}))


def key(config: DictConfig, regime: Regime) -> str:
    """Return a hash (16 hexadecimal digits) of a command's overrides, of its setting, of the config
    files, of the code (`digest_of_code`), of the versions of the numerical libraries, and of the
    place of the results relative to the folder of the sweep.

    Overrides that may differ between workers (`OWN`) are left out.
    """
    from ablate.record.identity import library_versions  # imports torch

    words = [*config.hydra.overrides.task, *config.hydra.overrides.hydra]
    asked = sorted(word for word in words if not word.lstrip("+~").startswith(OWN))
    files = [digest_of_code(config), _content(_config_files(config))]
    # a worker with another results folder would keep the locks and the log somewhere else
    results = os.path.relpath(config.paths.results, config.hydra.sweep.dir)
    return digest([asked, regime, files, library_versions(), results])


def digest_of_code(config: DictConfig) -> str:
    """Return a digest of the source of this package, and of all components of the user that the
    config files and the overrides of a sweep name.
    """
    from ablate.record.identity import source_hashes

    texts = [path.read_text(encoding="utf-8") for path in _config_files(config)]
    names = {*DOTTED.findall("\n".join([*texts, *config.hydra.overrides.task]))}
    components = source_hashes(name for name in names if not name.startswith("ablate."))
    return digest([_content(PACKAGE.rglob("*.py")), components])


def _config_files(config: DictConfig) -> list[Path]:
    sources = config.hydra.runtime.config_sources
    trees = [Path(source.path) for source in sources if source.schema == "file"]
    return [path for tree in trees for path in tree.rglob("*.yaml")]


def _content(paths: Iterable[Path]) -> str:
    digest_of_files = hashlib.sha256()
    for path in sorted(paths):
        digest_of_files.update(path.read_bytes())
    return digest_of_files.hexdigest()


def _folder(config: DictConfig, own_key: str) -> Path:
    """Return the folder of the open sweep that this command joins, or of a new sweep.

    Args:
        config: the config of the sweep.
        own_key: the hash of this command.

    Raises:
        UserError: hydra.sweep.dir was given, and another command has started a sweep there.
    """
    given = Path(config.hydra.sweep.dir)
    if any(word.startswith("hydra.sweep.dir=") for word in config.hydra.overrides.hydra):
        if (given / STATE).exists() and read_sealed(given / STATE)["key"] != own_key:
            raise UserError(
                f"hydra.sweep.dir={given}: another command, or another version, has begun a sweep "
                "there"
            )
        return given
    for path in sorted(given.parent.glob(f"*/{STATE}"), reverse=True):
        with suppress(UserError):  # a damaged sweep is not continued
            if read_sealed(path) == {"key": own_key, "failed": None}:
                return path.parent
    while (given / STATE).exists():  # of another command in the same second
        given = given.with_name(f"{given.name}_")
    return given


def once(config: DictConfig, path: Path, decide: Callable[[], Any]) -> Any:
    """Return a decision that is the same in all workers, as JSON data.

    The first worker makes the decision with `decide`, and stores it in the file `path`.

    Raises:
        UserError: the stored decision is damaged.
    """
    with alone(config):
        try:
            return read_sealed(path)["decided"]
        except FileNotFoundError:
            decided = json.loads(json.dumps(decide()))
            write_json(path, seal({"decided": decided}))
            return decided


def conclude(config: DictConfig, cells: int) -> int:
    """End the sweep in exactly one worker, and return the number of failed runs.

    The result is 0 if the sweep cannot end yet.

    Args:
        config: the config of the sweep.
        cells: the number of runs that must be done before the sweep can end.
    """
    from ablate.sweep.end import end  # imports W&B

    folder = Path(config.hydra.sweep.dir)
    with alone(config):
        state = read_sealed(folder / STATE)
        if state["failed"] is not None:
            print(f"Another worker has ended this sweep; its verdicts are in {folder}.")
        elif len(list((folder / "cells").glob("*.json"))) < cells:
            print("Another worker is retrying failed cells and will end the sweep.")
        else:
            state["failed"] = end(config)
            write_json(folder / STATE, seal(state))
    return int(state["failed"] or 0)

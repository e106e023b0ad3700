"""Read finished runs from their folders, including runs of older versions of the package."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ablate.errors import UserError
from ablate.record.identity import IN_TESTING, USUAL
from ablate.record.part import RESULTS
from ablate.record.sealed import read_result
from ablate.record.types import CombinedResult, Composition, Environment, Result, TrainingParts


@dataclass(frozen=True)
class StoredRun:
    """A training run with one of its evaluations, read from its folder.

    `parts` has everything from which the identity of the run, a hash, was computed.
    """

    folder: Path
    config: DictConfig
    parts: TrainingParts
    composition: Composition
    result: CombinedResult


def stored_runs(folder: Path) -> Iterator[StoredRun]:
    """Yield the run in a folder once for each of its evaluations.

    A run that failed or has not ended yields nothing.

    Raises:
        UserError: a file of the run is damaged.
    """
    trained = read_result(folder)
    if trained is None or trained["status"] not in RESULTS:
        return
    tests = [(path, read_result(path)) for path in sorted(folder.glob("tests/*/"))]
    tested = [(path, test) for path, test in tests if test and test["status"] in RESULTS]
    config, parts = _config(folder), _read_json(folder / "identity.json")
    made = _composition(_read_json(folder / "environment.json"))
    ends: list[tuple[Path, Result | None]] = [*tested] or [(folder, None)]
    for path, test in ends:
        whole = join_results(folder, trained, path, test)
        tested_as = config if test is None else with_evaluation(config, _config(path))
        yield StoredRun(folder, tested_as, parts, made, whole)


def with_evaluation(config: DictConfig, tests: DictConfig) -> DictConfig:
    """Return the config of a run whose settings for testing are replaced by those of an evaluation.

    Args:
        config: config of the training, with the settings of the evaluation right after it.
        tests: config of the evaluation; keys that are missing have their default values.
    """
    merged = cast(DictConfig, OmegaConf.merge(config, {"batch": tests.get("batch", {})}))
    for key in IN_TESTING:
        if key in config or key in tests:
            merged[key] = tests.get(key, USUAL.get(key, config.get(key)))
    return merged


def join_results(
    folder: Path, trained: Result, tests: Path, tested: Result | None
) -> CombinedResult:
    """Return the combined result of a training and of its evaluation.

    Args:
        folder: folder of the training.
        trained: result of the training.
        tests: folder of the evaluation.
        tested: result of the evaluation; None if the run is not tested.
    """
    whole = {key: value for key, value in trained.items() if key != "files"}
    whole |= {"training": trained["identity"], "folder": str(folder)}
    if tested is None:
        return cast(CombinedResult, {"signatures": {}, **whole})
    used: list[Any] = [part.get("processor_seconds") for part in (trained, tested)]
    both = {
        **whole,
        "identity": tested["identity"],
        "evaluation": str(tests),
        "metrics": {**trained["metrics"], **tested["metrics"]},
        "signatures": tested["signatures"],
        "seconds": {**trained["seconds"], **tested["seconds"]},
        "wall_seconds": round(trained["wall_seconds"] + tested["wall_seconds"], 3),
        "processor_seconds": None if None in used else round(sum(used), 3),
        "ended": max(trained["ended"], tested["ended"]),
    }
    return cast(CombinedResult, both)


def _config(folder: Path) -> DictConfig:
    try:
        return cast(DictConfig, OmegaConf.load(folder / "config.yaml"))
    except (OSError, YAMLError, OmegaConfBaseException, UnicodeDecodeError) as error:
        raise UserError(f"{folder / 'config.yaml'} cannot be read: {error}") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def _composition(environment: Environment) -> Composition:
    """Return Hydra's choices and overrides of a run.

    A run of an older version did not store them, so they are derived from its command.
    """
    words = environment["command"][1:]
    overrides = [word for word in words if "=" in word and not word.startswith("-")]
    pairs = (word.lstrip("+").partition("=") for word in overrides)
    chosen: dict[str, str | None] = {key: value for key, _, value in pairs if "/" in key}
    kept: Composition = {"swept": "-m" in words, "choices": chosen, "overrides": overrides}
    return environment.get("composition", kept)

"""Load finished sweeps: their evidence, or their runs as a pandas data frame (`ablate.load`)."""

import json
import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ablate.config import NO_VERDICT, SMOKE, leaves
from ablate.config.labels import use_labels
from ablate.config.study import Levels
from ablate.errors import UserError
from ablate.evidence.checks import ABOUT, RUNS, file_of_runs, read_parts
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import SCREENING, gather, logged
from ablate.evidence.outcome import Curve, by_label
from ablate.record.files import check_links
from ablate.record.results import folders_of, read_outcomes, read_result, say
from ablate.verdict.conclude import load_evidence

if TYPE_CHECKING:
    import pandas

Row = dict[str, object]
TARGET = "._target_"  # end of the key with the class of a component


def from_folder(folder: Path) -> Evidence:
    """Return the evidence of a sweep with a study, from its folder or from a folder in
    experiments/.

    Raises:
        UserError: the folder does not exist, or is not a finished sweep with a study.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    check_links(folder, folder)
    if file_of_runs(folder).exists() or not (folder / "cells").is_dir():
        return load_evidence(folder)
    check_cells(folder)
    evidence = gather(folder)
    # a sweep stores the history of its questions when it ends; earlier, no analysis is logged
    if "asked" not in evidence.registration:
        raise UserError(
            f"{folder} is a sweep without a study, or one that has not ended: start the same "
            "command again to continue it"
        )
    return evidence


def evidence_to_judge(source: str | PathLike[str] | Evidence) -> Evidence:
    """Return the evidence of a sweep or of a folder in experiments/, given its folder, if its
    study has a verdict; return an `Evidence` as it is.

    Raises:
        UserError: the folder is not a finished sweep with a study, or it is a smoke test or a part
            of a study, or the study has no claims.
    """
    if isinstance(source, Evidence):
        return source
    folder = Path(source).expanduser()
    if (folder / ABOUT).exists() and read_parts(folder)["regime"].get("scale") == SMOKE:
        raise UserError(f"{folder}: {NO_VERDICT}")
    evidence = from_folder(folder)
    if evidence.is_part:
        raise UserError(
            f"{folder} is a part of a study, with {evidence.seed_count}: "
            "join it with the other parts (ablate join) before it is judged"
        )
    if not (evidence.study or {}).get("claims"):
        raise UserError(f"{folder / ABOUT} has no claims, so there is nothing to judge")
    return evidence


def check_cells(sweep: Path) -> None:
    """Raise UserError if folders of runs of a sweep are missing, or outside its results folder."""
    # the folder of the sweep is RESULTS/sweeps/NAME/TIME
    results = (sweep.resolve() / "../../..").resolve()
    for outcome in (*read_outcomes(sweep), *read_outcomes(sweep / SCREENING)):
        for record in folders_of(outcome):
            path = Path(record).resolve()
            if not (path.is_dir() and path.is_relative_to(results)):
                raise UserError(f"{sweep}: {record} of cell {outcome['cell']} is not in {results}")


def frame(folder: Path, *, curves: bool) -> "pandas.DataFrame":
    """Return a data frame with a row for each run below a folder, or with `curves` for each step of
    each run with a logged loss; in a results folder, a run has a row for each of its tests.

    Raises:
        UserError: the folder has no runs, or a file of a run was changed or damaged.
    """
    import pandas  # takes half a second

    rows = [*_rows(folder, curves)]
    if not rows:
        raise UserError(
            f"{folder} has no runs: load takes the folder of a sweep, a folder in experiments/, "
            "a folder that contains such folders, or the results folder"
        )
    runs = pandas.DataFrame(rows)
    # two sweeps of an experiment may share a run
    one_run = ["experiment", "arm", "seed", "status", "identity", "step"]
    return runs.drop_duplicates([key for key in one_run if key in runs], ignore_index=True)


def _rows(folder: Path, curves: bool) -> Iterator[Row]:
    if (folder / "runs").is_dir():
        return _results_rows(folder / "runs", curves)
    check_links(folder, folder)
    sweeps = {path.parent for name in (f"{RUNS}*", "cells") for path in folder.rglob(name)}
    kept = sorted(path for path in sweeps if path.name != SCREENING or (path / ABOUT).exists())
    return (row for path in kept for row in _sweep_rows(path, curves))


def _sweep_rows(folder: Path, curves: bool) -> Iterator[Row]:
    """Yield a row of metrics for every run of a sweep. With `curves`, yield a row for every step at
    which a loss was logged.

    A row begins with the run's levels of the study's factors. If the study has two training
    budgets, a run has rows for both. Committed evidence does not name the folders of runs.
    """
    if not file_of_runs(folder).exists():
        check_cells(folder)
        evidence = gather(folder)
    else:
        evidence = Evidence.load(folder, statistics=False)
    use_labels(evidence.registration.get("labels", {}))
    arms = {members[0]["arm"]: arm for arm, members in by_label(evidence.runs).items()}
    outcomes: list[Any] = read_outcomes(folder)
    trained = [end for run in outcomes for end in (run, run.get("short", {})) if "folder" in end]
    folders = {end["identity"]: {"run": end["folder"]} for end in trained}
    for run in evidence.runs:
        ends: list[Any] = [run["short"]] if "short" in run else []
        tuned = {run["tuned"]["key"]: run["tuned"]["value"]} if "tuned" in run else {}
        for end in (*ends, run):
            levels = {"experiment": evidence.name, **run["levels"]}
            about = {"arm": arms[run["arm"]], "seed": run["seed"], "status": end["status"], **tuned}
            identity = {"identity": end["identity"]}
            place = folders.get(end["identity"], {})
            if curves:
                both = end["curve"], run.get("training", {}) if end is run else {}
                whole = place and end is run
                points: Any = logged(Path(place["run"])) if whole else _points(*both)
                yield from ({**levels, **about, **identity, **at} for at in points)
            else:
                seconds = {"seconds": end["seconds"]}
                yield {**levels, **about, **end["metrics"], **seconds, **identity, **place}


def _points(*curves: Curve) -> Iterator[Row]:
    """Yield for each optimiser step a row with the step and the values of the curves there."""
    by_step: dict[Any, Row] = {}
    for curve in curves:
        for values in zip(*curve.values(), strict=True):
            row = dict(zip(curve, values, strict=True))
            by_step.setdefault(row["step"], {}).update(row)
    return (by_step[step] for step in sorted(by_step))


def _results_rows(folder: Path, curves: bool) -> Iterator[Row]:
    """Yield a row for every test of every run with a result. With `curves`, yield a row for every
    step at which a loss was logged.

    A row begins with the config values that differ between the runs.
    """
    paths = sorted(folder.iterdir())
    ends = [(path, *end) for path in paths for end in _test_rows(path)]
    keys = _differing_keys([config for _, config, _ in ends])
    seen: set[Path] = set()
    arms = _short_names([{key: config.get(key) for key in keys} for _, config, _ in ends])
    for path, config, row in ends:
        levels = {key: config.get(key) for key in keys}
        first = {"experiment": _experiment(path), **levels, "arm": arms[say(levels)]}
        if not curves:
            yield {**first, **row}
        elif path not in seen:  # its tests share the curves of the training
            about = {key: row[key] for key in ("seed", "status", "identity")}
            yield from ({**first, **about, **at} for at in logged(path))
        seen.add(path)


def _short_names(arms: Iterable[Levels]) -> dict[str, str]:
    """Return a name for each arm, by its full name: the classes of its components, without the
    settings of these classes, unless two arms would have the same name.
    """
    short: dict[str, set[str]] = {}
    for levels in arms:
        above = tuple(f"{key}." for key in levels)
        parts = {key: value for key, value in levels.items() if not key.startswith(above)}
        short.setdefault(say(parts), set()).add(say(levels))
    return {
        full: name if len(full_names) == 1 else full
        for name, full_names in short.items()
        for full in full_names
    }


def _test_rows(folder: Path) -> Iterator[tuple[Row, Row]]:
    """Yield, for each test of a run, its config values and a row with seed, status, metrics and
    seconds.

    A run without a test has a single row. A run without a result has no row.
    """
    run: Any = read_result(folder)
    if run is None:
        return
    config = _config(folder)
    about = {"seed": config["seed"], "status": run["status"]}
    end = {"seconds": run["wall_seconds"], "identity": run["identity"], "run": str(folder)}
    paths = sorted(folder.glob("tests/*/"))
    tests = [(path, test) for path in paths if (test := read_result(path)) is not None]
    for path, test in tests:
        yield (
            {**config, **_config(path)},
            {**about, **run["metrics"], **test["metrics"], **end, "test": test["identity"]},
        )
    if not tests:
        yield config, {**about, **run["metrics"], **end}


def _experiment(folder: Path) -> str:
    """Return the name of the experiment of a run.

    Only the lines with the name are parsed, because parsing the whole config takes long.
    """
    text = (folder / "config.yaml").read_text(encoding="utf-8")
    lines = re.search(r"^name: .*(\n .*)*", text, re.MULTILINE)
    return str(yaml.safe_load(lines[0])["name"]) if lines else ""


def _config(folder: Path) -> Row:
    """Return the config values that affect the numbers of a run or a test, by dotted key.

    A component has the name of its class as its value.
    """
    parts = json.loads((folder / "identity.json").read_text(encoding="utf-8"))
    values = leaves({**parts["config"], "data": parts["data"]})
    return {
        key.removesuffix(TARGET): str(value).rpartition(".")[2] if key.endswith(TARGET) else value
        for key, value in values.items()
    }


def _differing_keys(configs: Iterable[Row]) -> list[str]:
    """Return the keys whose values differ between configs, except `seed`, which always has a
    column.
    """
    configs = [*configs]
    keys = dict.fromkeys(key for config in configs for key in config)
    return [
        key
        for key in keys
        if key != "seed" and len({json.dumps(config.get(key)) for config in configs}) > 1
    ]

"""Runs as a data frame: what `ablate.load` returns."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas

from ablate.config.leaves import leaves
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.seal import RUNS, SCREENING
from ablate.record.files import check_links
from ablate.record.sealed import read_result
from ablate.sweep.evidence import check_cells

Row = dict[str, object]
TARGET = "._target_"  # below a component: its class


def frame(folder: Path) -> pandas.DataFrame:
    """The runs of a folder as a pandas data frame.

    Raises:
        UserError: the folder has no runs, or a record was changed or damaged.
    """
    rows = [*_rows(folder)]
    if not rows:
        raise UserError(
            f"{folder} has no runs: load takes the folder of a sweep, one below experiments/, "
            "a folder of such folders, or results"
        )
    return pandas.DataFrame(rows)


def _rows(folder: Path) -> Iterator[Row]:
    if (folder / "runs").is_dir():
        return _of_results(folder / "runs")
    check_links(folder, folder)
    sweeps = {path.parent for name in (RUNS, "cells") for path in folder.rglob(name)}
    kept = sorted(path for path in sweeps if path.name != SCREENING)
    return (row for path in kept for row in _of_sweep(path))


def _of_sweep(folder: Path) -> Iterator[Row]:
    """Every run at every budget, with the levels of the factors of its study."""
    if not (folder / RUNS).exists():
        check_cells(folder)
        evidence = gather(folder)
    else:
        evidence = Evidence.load(folder, statistics=False)
    for run in evidence.runs:
        ends: list[Any] = [run["short"]] if "short" in run else []
        for end in (*ends, run):
            yield {
                "experiment": evidence.name,
                **run["levels"],
                "arm": run["arm"],
                "seed": run["seed"],
                "status": end["status"],
                **end["metrics"],
                "seconds": end["seconds"],
                "identity": end["identity"],
            }


def _of_results(folder: Path) -> Iterator[Row]:
    """Every run that has ended, once for each way it was tested, with the keys that tell apart."""
    found = [one for path in sorted(folder.iterdir()) for one in _ends(path)]
    told = _telling([config for config, _ in found])
    for config, row in found:
        yield {**{key: config.get(key) for key in told}, **row}


def _ends(folder: Path) -> Iterator[tuple[Row, Row]]:
    """Config and row of a run, as each of its tests left it."""
    run = read_result(folder)
    if run is None:
        return
    config = _config(folder)
    about = {"seed": run["seed"], "status": run["status"]}
    end = {"seconds": run["wall_seconds"], "identity": run["identity"]}
    paths = sorted(folder.glob("tests/*/"))
    tests = [(path, test) for path in paths if (test := read_result(path)) is not None]
    for path, test in tests:
        yield (
            {**config, **_config(path)},
            {**about, **run["metrics"], **test["metrics"], **end, "test": test["identity"]},
        )
    if not tests:
        yield config, {**about, **run["metrics"], **end}


def _config(folder: Path) -> Row:
    """What the identity of a run or a test is made of, by dotted key; components by their class."""
    parts = json.loads((folder / "identity.json").read_text(encoding="utf-8"))
    data = {"data": parts["data"]} if "data" in parts else {}
    return {
        key.removesuffix(TARGET): str(value).rpartition(".")[2] if key.endswith(TARGET) else value
        for key, value in leaves({**parts["config"], **data}).items()
    }


def _telling(configs: Iterable[Row]) -> list[str]:
    """Keys whose value is not the same in all configs, but for the seed, which has its column."""
    configs = [*configs]
    keys = dict.fromkeys(key for config in configs for key in config)
    return [
        key
        for key in keys
        if key != "seed" and len({json.dumps(config.get(key)) for config in configs}) > 1
    ]

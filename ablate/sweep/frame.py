"""Load runs as a data frame, for `ablate.load`."""

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
TARGET = "._target_"  # suffix of the key with a component's class


def frame(folder: Path) -> pandas.DataFrame:
    """Return the runs of a folder as a pandas data frame.

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
    """Yield every run at every budget, with the levels of the factors of its study."""
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
    """Yield every finished run once per evaluation, with the keys that differ between runs."""
    runs = [run for path in sorted(folder.iterdir()) for run in _ends(path)]
    keys = _telling([config for config, _ in runs])
    for config, row in runs:
        yield {**{key: config.get(key) for key in keys}, **row}


def _ends(folder: Path) -> Iterator[tuple[Row, Row]]:
    """Yield the config and the results of a run, for each of its evaluations."""
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
    """Return the config of a run or an evaluation by dotted key; components by their class."""
    parts = json.loads((folder / "identity.json").read_text(encoding="utf-8"))
    data = {"data": parts["data"]} if "data" in parts else {}
    return {
        key.removesuffix(TARGET): str(value).rpartition(".")[2] if key.endswith(TARGET) else value
        for key, value in leaves({**parts["config"], **data}).items()
    }


def _telling(configs: Iterable[Row]) -> list[str]:
    """Return the keys whose value differs between configs, except the seed."""
    configs = [*configs]
    keys = dict.fromkeys(key for config in configs for key in config)
    return [
        key
        for key in keys
        if key != "seed" and len({json.dumps(config.get(key)) for config in configs}) > 1
    ]

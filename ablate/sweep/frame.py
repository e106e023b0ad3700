"""Runs as a data frame: what `ablate.load` returns."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas

from ablate.config.leaves import leaves
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import curve_of, gather
from ablate.evidence.seal import RUNS, SCREENING
from ablate.evidence.types import Curve
from ablate.record.files import check_links
from ablate.record.label import say
from ablate.record.sealed import read_result
from ablate.sweep.evidence import check_cells

Row = dict[str, object]
TARGET = "._target_"  # below a component: its class


def frame(folder: Path, *, curves: bool) -> pandas.DataFrame:
    """Return the runs of a folder as a data frame, or with `curves` every validation of every run.

    Raises:
        UserError: the folder has no runs, or a record was changed or damaged.
    """
    rows = [*_rows(folder, curves)]
    if not rows:
        raise UserError(
            f"{folder} has no runs: load takes the folder of a sweep, one below experiments/, "
            "a folder of such folders, or results"
        )
    return pandas.DataFrame(rows)


def _rows(folder: Path, curves: bool) -> Iterator[Row]:
    if (folder / "runs").is_dir():
        return _of_results(folder / "runs", curves)
    check_links(folder, folder)
    sweeps = {path.parent for name in (RUNS, "cells") for path in folder.rglob(name)}
    kept = sorted(path for path in sweeps if path.name != SCREENING)
    return (row for path in kept for row in _of_sweep(path, curves))


def _of_sweep(folder: Path, curves: bool) -> Iterator[Row]:
    """Every run at every budget, with the levels of the factors of its study."""
    if not (folder / RUNS).exists():
        check_cells(folder)
        evidence = gather(folder)
    else:
        evidence = Evidence.load(folder, statistics=False)
    for run in evidence.runs:
        ends: list[Any] = [run["short"]] if "short" in run else []
        for end in (*ends, run):
            levels = {"experiment": evidence.name, **run["levels"]}
            about = {"arm": run["arm"], "seed": run["seed"], "status": end["status"]}
            identity = {"identity": end["identity"]}
            if curves:
                yield from ({**levels, **about, **identity, **at} for at in _points(end["curve"]))
            else:
                seconds = {"seconds": end["seconds"]}
                yield {**levels, **about, **end["metrics"], **seconds, **identity}


def _points(curve: Curve) -> Iterator[Row]:
    """Yield the values of every validation, with their optimiser step."""
    return (dict(zip(curve, values, strict=True)) for values in zip(*curve.values(), strict=True))


def _of_results(folder: Path, curves: bool) -> Iterator[Row]:
    """Every run that has ended, once for each way it was tested, with the keys that tell apart."""
    paths = sorted(folder.iterdir())
    ends = [(path, *end) for path in paths for end in _ends(path)]
    keys = _telling([config for _, config, _ in ends])
    seen: set[Path] = set()
    for path, config, row in ends:
        levels = {key: config.get(key) for key in keys}
        first = {"experiment": _experiment(path), **levels, "arm": say(levels)}
        if not curves:
            yield {**first, **row}
        elif path not in seen:  # its tests share the curve of the training
            about = {key: row[key] for key in ("seed", "status", "identity")}
            yield from ({**first, **about, **at} for at in _points(curve_of(path)))
        seen.add(path)


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


def _experiment(folder: Path) -> str:
    """Return the name of the experiment of a run, whose config is too long to be parsed for it."""
    name = re.search(r"^name: (.*)$", (folder / "config.yaml").read_text(encoding="utf-8"), re.M)
    return name[1] if name else ""


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

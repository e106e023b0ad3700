"""From the records of a sweep's runs to the evidence of its study."""

import json
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ablate.errors import UserError
from ablate.record.arm import say
from ablate.record.links import read_links, swept
from ablate.record.sealed import read_result
from ablate.study.command import command
from ablate.study.evidence import Evidence, Groups, Rows
from ablate.study.form import check_runs
from ablate.study.seal import read_about, read_json
from ablate.study.types import Curve, End, Run

LIBRARIES = ("ablate", "torch", "pytorch-lightning", "numpy", "sacrebleu")
CURVES = ("val/nll", "val/bleu")
STATISTICS = ".stats.npz"
SCREENING = "screening"  # folder of the runs that tuned a nuisance, inside that of the sweep


def gather(sweep: Path) -> Evidence:
    """Read the cells of a sweep and the records of their runs, whose seals are checked.

    Raises:
        UserError: the folder is not that of a sweep that has begun, a record is damaged, or what
            the sweep began with was changed.
    """
    about = read_about(sweep)
    links = read_links(sweep)
    if not links:
        raise UserError(f"{sweep} is not the folder of a sweep with runs")
    study: Any = about["study"] or {"factors": swept(links), "claims": []}
    ends = [end for link in links for end in (link, link.get("short", {}))]
    statistics = {end["identity"]: found for end in ends if (found := _statistics(end))}
    splits = {split for found in statistics.values() for split in found}
    sizes = {one: [len(x[one]) for x in statistics.values() if one in x] for one in splits}
    sentences = {split: max(sizes[split]) for split in sorted(splits)}
    runs = [_run(link, study["factors"], about["name"]) for link in links]
    if about["study"]:
        check_runs(str(sweep / "cells"), runs, study["factors"])
    return Evidence(
        name=about["name"],
        study=study,
        regime=about["regime"] | {"test_sentences": sentences},
        registration=about["registration"],
        registered=about["registered"],
        runs=runs,
        screening=[
            _run(link, study["factors"], about["name"]) for link in read_links(sweep / SCREENING)
        ],
        statistics=statistics,
        groups={split: one for link in links for split, one in _groups(link).items()},
    )


def _run(link: dict[str, Any], factors: list[str], experiment: str) -> Run:
    levels = {factor: link["levels"].get(factor) for factor in factors}
    end = _end(link)
    run: Any = {
        "cell": link["cell"],
        "identity": end["identity"],
        "levels": levels,
        "arm": say(levels),
        "seed": link["seed"],
        **{key: value for key, value in end.items() if key != "identity"},
        "command": command(link["overrides"]),
        "versions": _versions(Path(link["folder"])) if "folder" in link else {},
    }
    more: dict[str, Any] = {
        key: link[key] for key in ("tuned", "matched", "error", "study") if key in link
    }
    if "short" in link:
        more |= {"short": _end(link["short"]), **_cost(Path(link["folder"]))}
    found: Run = run | more
    return found


def _end(link: dict[str, Any]) -> End:
    """What became of a run, at one of its budgets."""
    folder = Path(link["folder"]) if "folder" in link else None
    if folder:
        _check(folder, link["training"])
    return {
        "identity": link.get("identity", ""),
        "status": link["status"],
        "metrics": link.get("metrics", {}),
        "curve": _curve(folder) if folder else {},
        "reused": bool(link.get("reused")),
        "ended": link.get("ended", 0.0),
        "seconds": link.get("wall_seconds", 0.0),
    }


def _check(folder: Path, identity: str) -> None:
    """Raise UserError for a result that is gone or was changed."""
    try:
        found = read_result(folder, identity)
    except UserError as error:
        raise UserError(f"{error}: the command of the sweep makes it again") from None
    if found is None:
        raise UserError(f"{folder} has no result.json: the command of the sweep makes it again")


def _cost(folder: Path) -> dict[str, float]:
    """Median seconds per update between two lines with no validation between; empty if unknown."""
    lines = [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]
    trained = [(a, b) for a, b in pairwise(lines) if a["step"] < b["step"] and CURVES[0] not in b]
    found = [(b["time"] - a["time"]) / (b["step"] - a["step"]) for a, b in trained]
    return {"update_seconds": round(statistics.median(found), 6)} if found else {}


def _curve(folder: Path) -> Curve:
    """Values of every validation by its optimiser step, of those metrics that all of them have."""
    by_step: dict[int, dict[str, Any]] = {}
    path = folder / "metrics.jsonl"
    for text in path.read_text().splitlines() if path.exists() else []:
        line = json.loads(text)
        by_step.setdefault(line["step"], {}).update(line)
    points = [line for _, line in sorted(by_step.items()) if CURVES[0] in line]
    known = [name for name in CURVES if all(name in line for line in points)]
    return {name: [line[name] for line in points] for name in ("step", *known)} if points else {}


def _versions(folder: Path) -> dict[str, str]:
    environment = read_json(folder / "environment.json")
    packages = {name: environment["packages"].get(name, "") for name in LIBRARIES}
    return {"python": environment["python"], **packages}


def _statistics(link: dict[str, Any]) -> dict[str, Rows]:
    if "evaluation" not in link:
        return {}
    _check(Path(link["evaluation"]), link["identity"])
    paths = sorted(Path(link["evaluation"]).glob(f"*{STATISTICS}"))
    found = {path.name.removesuffix(STATISTICS): read_rows(path) for path in paths}
    return {split: rows for split, rows in found.items() if rows is not None}


def _groups(link: dict[str, Any]) -> dict[str, Groups]:
    """Numbers of the groups of test sentences, by split, where a corpus names them."""
    found = {}
    for path in sorted(Path(link.get("evaluation", "")).glob(f"*{STATISTICS}")):
        with np.load(path, allow_pickle=False) as arrays:
            if "groups" in arrays:
                found[path.name.removesuffix(STATISTICS)] = arrays["groups"]
    return found


def read_rows(path: Path) -> Rows | None:
    """BLEU statistics of every sentence; None of a task that translates nothing."""
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["bleu"] if "bleu" in arrays.files else None

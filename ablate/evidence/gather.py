"""From the records of a sweep's runs to the evidence of its study."""

import json
import statistics
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from ablate.errors import UserError
from ablate.evidence.command import command
from ablate.evidence.folder import Evidence, Groups, Rows
from ablate.evidence.form import check_arms, check_runs
from ablate.evidence.registration import digest
from ablate.evidence.seal import read_about, read_json
from ablate.evidence.types import Curve, End, Run
from ablate.phrases import listed
from ablate.record.label import say
from ablate.record.links import read_links, swept
from ablate.record.sealed import read_result
from ablate.record.types import Environment, Link, Metrics, Outcome

LIBRARIES = ("ablate", "torch", "pytorch-lightning", "numpy", "sacrebleu")
CURVES = ("val/nll", "val/bleu")
TRAINING = "train/nll"  # of one batch at a time, with dropout
POINTS = 24  # of a curve of training that are kept
DIGITS = 4  # of each
EXACT = 9  # digits that tell one float32 from the next: of a run that was trained no more are kept
STATISTICS = ".stats.npz"
IDENTITY = "identity.json"  # of a record: the parts of its identity
BESIDE_CODE = ("libraries", "data", "device", "initial", "bleu")  # of these parts
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
    ends = [end for link in links for end in _ends(link)]
    statistics = {end["identity"]: found for end in ends if (found := _statistics(end))}
    sentences: dict[str, int] = {}
    for split, count in sorted(tested for end in ends for tested in _tested(end)):
        sentences[split] = count  # the largest of a split comes last
    corpora = dict.fromkeys(name for link in links if (name := _corpus(link)))
    regime = about["regime"] | {"test_sentences": sentences}
    if corpora:
        regime["corpus"] = listed([*corpora])
    runs = [_run(link, study["factors"], about["name"]) for link in links]
    if about["study"]:
        check_runs(str(sweep / "cells"), runs, study["factors"])
    else:
        check_arms(str(sweep / "cells"), runs)
    return Evidence(
        name=about["name"],
        study=study,
        regime=regime,
        registration=about["registration"],
        registered=about["registered"],
        runs=runs,
        screening=[
            _run(link, study["factors"], about["name"]) for link in read_links(sweep / SCREENING)
        ],
        statistics=statistics,
        groups={split: one for link in links for split, one in _groups(link).items()},
    )


def _run(link: Link, factors: list[str], experiment: str) -> Run:
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
    more: dict[str, object] = {
        key: link[key] for key in ("tuned", "matched", "error", "study") if key in link
    }
    if "folder" in link:
        more |= {**_commit(Path(link["folder"])), "code": _code(link)}
        more |= _draws(Path(link["folder"]))
        more |= {"training": found} if (found := _training(Path(link["folder"]))) else {}
    if "short" in link:
        more |= {"short": _end(link["short"]), **_cost(Path(link["folder"]))}
    whole: Run = run | more
    return whole


def _ends(link: Link) -> list[Link | Outcome]:
    """A run at its budget, and at the short one if it has one."""
    return [link, link["short"]] if "short" in link else [link]


def _end(link: Link | Outcome) -> End:
    """What became of a run, at one of its budgets."""
    folder = Path(link["folder"]) if "folder" in link else None
    if folder:
        _check(folder, link["training"])
    metrics, curve = kept(link.get("metrics", {}), _curve(folder) if folder else {})
    return {
        "identity": link.get("identity", ""),
        "status": link["status"],
        "metrics": metrics,
        "curve": curve,
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
    lines = [
        json.loads(text)
        for text in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    trained = [(a, b) for a, b in pairwise(lines) if a["step"] < b["step"] and CURVES[0] not in b]
    found = [(b["time"] - a["time"]) / (b["step"] - a["step"]) for a, b in trained]
    return {"update_seconds": round(statistics.median(found), 6)} if found else {}


def kept(metrics: Metrics, curve: Curve) -> tuple[Metrics, Curve]:
    """What evidence keeps of a run: of one without a curve, a probe, all digits.

    Some values of probes differ in the last ones.
    """
    if not curve:
        return metrics, curve
    points = {name: [_rounded(x, EXACT) for x in values] for name, values in curve.items()}
    return {name: _rounded(x, EXACT) for name, x in metrics.items()}, points


def _curve(folder: Path) -> Curve:
    """Values of every validation by its optimiser step, of those metrics that all of them have."""
    points = _logged(folder, CURVES[0])
    known = [name for name in CURVES if all(name in line for line in points)]
    return {name: [line[name] for line in points] for name in ("step", *known)} if points else {}


def _training(folder: Path) -> Curve:
    """The nll of batches while they are trained on: evenly spaced ones, the last one with them."""
    logged = _logged(folder, TRAINING)
    count = min(len(logged), POINTS)
    points = [logged[len(logged) * number // count - 1] for number in range(1, count + 1)]
    values = [_rounded(line[TRAINING], DIGITS) for line in points]
    return {"step": [line["step"] for line in points], TRAINING: values} if points else {}


def _rounded(value: Any, digits: int) -> Any:
    """A float with so many significant digits; a count, or whatever else it is, stays as it is."""
    counts = not isinstance(value, float) or value.is_integer()
    return value if counts else float(f"{value:.{digits}g}")


def _logged(folder: Path, name: str) -> list[Metrics]:
    """The lines of a record that have a metric, by their optimiser step."""
    by_step: dict[int, Metrics] = {}
    path = folder / "metrics.jsonl"
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        line = json.loads(text)
        by_step.setdefault(line["step"], {}).update(line)
    return [line for _, line in sorted(by_step.items()) if name in line]


def _versions(folder: Path) -> dict[str, str]:
    environment = cast(Environment, read_json(folder / "environment.json"))
    packages = {name: environment["packages"].get(name, "") for name in LIBRARIES}
    return {"python": environment["python"], **packages}


def _commit(folder: Path) -> dict[str, str]:
    """Return the commit of the source that made a run, below `commit`; {} if it is not recorded."""
    environment = cast(Environment, read_json(folder / "environment.json"))
    return {"commit": commit} if (commit := environment.get("commit")) else {}


def _draws(folder: Path) -> dict[str, int]:
    """Return the random draws of a run's probe, below `draws`; {} where it makes none."""
    probe = read_json(folder / IDENTITY).get("config", {}).get("probe") or {}
    return {"draws": probe["draws"]} if probe.get("draws") else {}


def _code(link: Link) -> str:
    """Return a digest of what made the numbers of a run, its config left out.

    These are the source of every module that training and testing execute, the libraries, the data
    and the kind of device. Runs of one arm share it, unless their code differs.
    """
    trained = read_json(Path(link["folder"]) / IDENTITY)
    tested = read_json(Path(link["evaluation"]) / IDENTITY) if "evaluation" in link else {}
    modules = {**trained.get("modules", {}), **tested.get("modules", {})}
    rest = {key: trained[key] for key in BESIDE_CODE if key in trained}
    return digest([sorted(modules.values()), rest])


def _statistics(link: Link | Outcome) -> dict[str, Rows]:
    if "evaluation" not in link:
        return {}
    _check(Path(link["evaluation"]), link["identity"])
    paths = sorted(Path(link["evaluation"]).glob(f"*{STATISTICS}"))
    found = {path.name.removesuffix(STATISTICS): read_rows(path) for path in paths}
    return {split: rows for split, rows in found.items() if rows is not None}


def _tested(link: Link | Outcome) -> Iterator[tuple[str, int]]:
    """The tested splits of a run with their sentences, whatever their scores are made of."""
    for path in Path(link["evaluation"]).glob(f"*{STATISTICS}") if "evaluation" in link else ():
        with np.load(path, allow_pickle=False) as arrays:
            for name in [name for name in arrays.files if name != "groups"][:1]:
                yield path.name.removesuffix(STATISTICS), len(arrays[name])


def _corpus(link: Link) -> str:
    """What the record of a run says of its corpus; "" in records of before."""
    path = Path(link["folder"], "environment.json") if "folder" in link else None
    return str(read_json(path).get("corpus", "")) if path else ""


def _groups(link: Link) -> dict[str, Groups]:
    """Numbers of the groups of test sentences, by split, where a corpus names them."""
    found = {}
    for path in sorted(Path(link.get("evaluation", "")).glob(f"*{STATISTICS}")):
        with np.load(path, allow_pickle=False) as arrays:
            if "groups" in arrays:
                found[path.name.removesuffix(STATISTICS)] = arrays["groups"]
    return found


def read_rows(path: Path) -> Rows | None:
    """Return the BLEU statistics of every sentence; None of a task that translates nothing.

    Raises:
        UserError: the file is damaged.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return arrays["bleu"] if "bleu" in arrays.files else None
    except Exception as error:  # whatever zipfile, lzma, zlib and numpy raise for damaged bytes
        raise UserError(f"{path} is damaged ({type(error).__name__})") from None

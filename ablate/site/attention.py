"""The attention that W&B's folders of two runs have kept, as pictures beside their sentences."""

import re
from pathlib import Path

from ablate.evidence.types import Run

MEDIA = "runs/*/wandb/*run-*-*/files/media/images/attention/*.png"
NAME = re.compile(r"(?P<kind>\w+)_(?P<step>\d+)_\w+")  # as W&B calls a picture
Kept = dict[str, dict[str, Path]]  # by the identity of a run, and by the kind of attention


def kept(results: Path) -> Kept:
    """The latest picture of every attention of every run that logged some to W&B."""
    latest: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in sorted(results.glob(MEDIA)):
        if named := NAME.fullmatch(path.stem):
            key = path.parents[4].name.rpartition("-")[2], named["kind"]
            step = int(named["step"])
            latest[key] = max(latest.get(key, (-1, path)), (step, path))
    found: Kept = {}
    for (identity, kind), (_, path) in sorted(latest.items()):
        found.setdefault(identity, {})[kind] = path
    return found


def of_pair(runs: list[Run], known: Kept) -> list[dict[str, object]]:
    """The kinds of attention that both runs have, each with the files of the two."""
    first, second = (known.get(run["identity"], {}) for run in runs)
    return [
        {"kind": kind.replace("_", " "), "files": [file_name(run, kind) for run in runs]}
        for kind in first
        if kind in second
    ]


def file_name(run: Run, kind: str) -> str:
    """The file of a picture in the folder of the site's data."""
    return f"attention/{run['identity']}-{kind}.png"


def files(runs: list[Run], known: Kept) -> dict[str, Path]:
    """Where the pictures of runs are, by the names of their files."""
    return {
        file_name(run, kind): path
        for run in runs
        for kind, path in known.get(run["identity"], {}).items()
    }

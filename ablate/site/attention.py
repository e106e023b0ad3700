"""Find the pictures of attention maps in W&B's local folders of runs."""

import re
from pathlib import Path

from ablate.evidence.types import Run

MEDIA = "runs/*/wandb/*run-*-*/files/media/images/attention/*.png"
NAME = re.compile(r"(?P<kind>\w+)_(?P<step>\d+)_\w+")  # the names that W&B gives to pictures
Kept = dict[str, dict[str, Path]]  # pictures, by identity of the run and kind of attention


def kept(results: Path) -> Kept:
    """Return the newest picture of each kind of attention for every run that logged pictures to
    W&B, by the identity of the run and then by the kind of attention.
    """
    latest: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in sorted(results.glob(MEDIA)):
        if named := NAME.fullmatch(path.stem):
            key = path.parents[4].name.rpartition("-")[2], named["kind"]
            step = int(named["step"])
            latest[key] = max(latest.get(key, (-1, path)), (step, path))
    by_run: Kept = {}
    for (identity, kind), (_, path) in sorted(latest.items()):
        by_run.setdefault(identity, {})[kind] = path
    return by_run


def of_pair(runs: list[Run], pictures: Kept) -> list[dict[str, object]]:
    """Return a dictionary for each kind of attention for which both runs have a picture.

    The key `kind` has the kind in words, and `files` has the two file names.
    """
    first, second = (pictures.get(run["identity"], {}) for run in runs)
    return [
        {"kind": kind.replace("_", " "), "files": [file_name(run, kind) for run in runs]}
        for kind in first
        if kind in second
    ]


def file_name(run: Run, kind: str) -> str:
    """Return the file name of an attention picture in the data folder of the site."""
    return f"attention/{run['identity']}-{kind}.png"


def files(runs: list[Run], pictures: Kept) -> dict[str, Path]:
    """Return the paths of the attention pictures of runs, by their file names on the site."""
    return {
        file_name(run, kind): path
        for run in runs
        for kind, path in pictures.get(run["identity"], {}).items()
    }

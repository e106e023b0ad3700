"""Find the files with verdicts: those of the committed evidence, and the user's own.

The project's evidence is in the folder `experiments` of a checkout. A wheel has only its verdicts.
A folder `experiments` elsewhere has evidence that the user has saved, and `results/sweeps` has the
user's sweeps.
"""

from collections.abc import Iterator
from pathlib import Path

from ablate.verdict.replication_file import RESULT

COMMITTED, KEPT, SWEEP = "committed", "your experiment", "your sweep"
ORIGINS = (
    COMMITTED,
    KEPT,
    SWEEP,
)  # verdicts of a later origin never change headlines of an earlier one
VERDICT = "verdict.json"
LOCAL = Path("experiments")
_PACKAGE = Path(__file__).resolve().parents[1]
# A wheel has the verdicts inside the package; a checkout has all evidence beside the package.
PROJECT = (_PACKAGE if (_PACKAGE / LOCAL).is_dir() else _PACKAGE.parent) / LOCAL


def is_packaged(folder: Path) -> bool:
    """Return whether a folder of evidence is part of the installed package, which has only
    verdicts.
    """
    return _PACKAGE in folder.resolve().parents


def verdict_files(experiments: Path | None, results: Path) -> Iterator[tuple[str, Path]]:
    """Yield the origin (one of `ORIGINS`) and the path of every verdict.json.

    Newer sweeps come last.

    Replications are left out, because each is stored beside the verdict that it repeats.

    Args:
        experiments: folder with evidence, which replaces all other folders except sweeps; None for
            the project's folder and the user's.
        results: folder of all results, with the user's sweeps.
    """
    if experiments is not None:
        yield from ((COMMITTED, path) for path in _within(experiments))
    else:
        yield from _committed_and_kept()
    for path in sorted(results.glob(f"sweeps/*/*/{VERDICT}")):
        if not path.with_name(RESULT).exists():
            yield SWEEP, path


def _committed_and_kept() -> Iterator[tuple[str, Path]]:
    """Yield (origin, path of a verdict.json) for the verdicts of the project, with origin
    `COMMITTED`, and for the other verdicts in the user's folder `experiments`, with origin `KEPT`.

    A verdict that is the same in both places is yielded once: with the origin `COMMITTED`, and with
    the path in the user's folder, because the runs are there.
    """
    here = {path.relative_to(LOCAL): path for path in _within(LOCAL)}
    for path in _within(PROJECT):
        name = path.relative_to(PROJECT)
        same = name in here and path.read_bytes() == here[name].read_bytes()
        yield COMMITTED, here.pop(name) if same else path
    yield from ((KEPT, path) for path in here.values())


def _within(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"**/{VERDICT}"))

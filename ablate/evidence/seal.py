"""study.json, and the seal in it by which edited evidence is noticed.

A seal holds a digest of every run of runs.jsonl and screening.jsonl, of statistics.npz, and of
what study.json itself says beside the study (which its registration has the hash of). The code
that writes evidence writes it, and whoever reads evidence verifies it: a value or a status that
was changed, a run that was dropped, a file that was damaged is refused.

It is no signature. It finds damage and careless edits; who changes evidence and computes the seal
anew is found by running the study again: `python -m ablate +experiment=NAME -m`.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ablate.errors import UserError
from ablate.evidence.registration import digest
from ablate.evidence.types import About, Run, Seal
from ablate.record.files import finite, write_json, write_text

ABOUT, REGISTERED, STATISTICS = "study.json", "registered.json", "statistics.npz"
RUNS, SCREENING = "runs.jsonl", "screening.jsonl"
FILES = (ABOUT, REGISTERED, RUNS, SCREENING, STATISTICS)
PARTS = ("name", "study", "regime", "registration")
# a sweep without a study has none
KINDS = {"name": str, "study": dict | None, "regime": dict, "registration": dict, "seal": dict}
Runs = list[Run]


def write_about(folder: Path, about: About, registered: Mapping[str, object], seal: Seal) -> None:
    """Write study.json with its seal, and the form of the study that was registered.

    `about` has the `PARTS`, `registered` is empty where no form is kept, and `seal` holds the
    digests of the other files.
    """
    if registered:
        text = json.dumps(finite(dict(registered)), allow_nan=False)
        write_text(folder / REGISTERED, f"{text}\n")
    sealed = {**about, "seal": {ABOUT: _of_about(about), **seal}}
    write_json(folder / ABOUT, sealed)


def read_about(folder: Path) -> About:
    """Return what study.json says, and below `registered` the registered form, where it is kept.

    Raises:
        UserError: a file is missing, damaged, or was changed after it was sealed.
    """
    about = read_parts(folder)
    if "seal" not in about:
        raise UserError(
            f"{folder / ABOUT} has no seal, so nothing says that its evidence is as it was made: "
            f"run the study {about['name']} again"
        )
    if about["seal"].get(ABOUT) != _of_about(about):
        raise _changed(f"{folder / ABOUT}: name, regime or registration", about)
    return about


def read_parts(folder: Path) -> About:
    """Return the same whatever its seal says.

    Raises:
        UserError: a file is missing or damaged.
    """
    about = read_json(folder / ABOUT)
    for part, kind in KINDS.items():
        if part not in about and part in PARTS:
            raise UserError(f"{folder / ABOUT} has no {part}")
        if not isinstance(about.get(part, {}), kind):
            raise UserError(f"{folder / ABOUT}: {part} does not hold what it must")
    kept = folder / REGISTERED
    return cast(About, {**about, "registered": read_json(kept) if kept.exists() else {}})


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file of a study's folder says.

    Raises:
        UserError: it is missing or damaged.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = "this is not the folder of a study, as experiments/NAME is"
        raise UserError(f"{path} is missing: {known}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} does not hold a study")
    return found


def seal_of(folder: Path, runs: Runs, screening: Runs) -> Seal:
    """Digests of the runs, and of the statistics as they lie in the folder."""
    seal = {RUNS: _of_runs(runs), SCREENING: _of_runs(screening)}
    return {**seal, STATISTICS: _of_file(folder / STATISTICS)}


def verify(folder: Path, about: About, runs: Runs, screening: Runs) -> None:
    """Raise UserError for the first run or file that is not as it was sealed, naming it."""
    sealed = about["seal"]
    for name, lines in ((RUNS, runs), (SCREENING, screening)):
        _verify_runs(folder / name, sealed.get(name), lines, about)
    if sealed.get(STATISTICS) != _of_file(folder / STATISTICS):
        raise _changed(str(folder / STATISTICS), about)


def _verify_runs(path: Path, sealed: Any, runs: Runs, about: About) -> None:
    if not isinstance(sealed, dict):
        raise UserError(f"{path} has no seal in {ABOUT}: the sweep was ended before it was written")
    found = _of_runs(runs)
    arms = {str(run["cell"]): f" ({run['arm']}, seed {run['seed']})" for run in runs}
    for cell in dict.fromkeys([*found, *sealed]):
        if found.get(cell) != sealed.get(cell):
            raise _changed(f"{path}: the run of cell {cell}{arms.get(cell, '')}", about)


def _changed(what: str, about: About) -> UserError:
    command = about["registration"].get("command") or (
        f"python -m ablate +experiment={about['name']} -m"
    )
    return UserError(f"{what} is not as it was sealed: restore the files, or run {command} again")


def _of_about(about: About) -> str:
    said: Mapping[str, object] = about
    return digest(finite({part: said[part] for part in PARTS if part != "study"}))


def _of_runs(runs: Runs) -> dict[str, str]:
    return {str(run["cell"]): digest(finite(run)) for run in runs}


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

"""Read and write study.json with its seal: digests by which edited evidence is detected.

A seal contains a digest of every run in runs.jsonl and screening.jsonl, of statistics.npz, and of
study.json except the study (which is covered by the hash of its registration). The code that
writes evidence writes the seal. Every function that reads evidence for a verdict verifies the seal.
Changed values or statuses, removed runs and damaged files are rejected.

A seal is not a signature. It detects damage and careless edits. Deliberate forgery is found by
running the study again: `python -m ablate +experiment=NAME -m`.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ablate.errors import UserError
from ablate.evidence.form import check_form
from ablate.evidence.registration import digest
from ablate.evidence.types import About, Begun, Reason, Run, Seal, reason
from ablate.record.files import finite, write_json, write_text

ABOUT, REGISTERED, STATISTICS = "study.json", "registered.json", "statistics.npz"
RUNS, SCREENING = "runs.jsonl", "screening.jsonl"
COMPRESSED = ".gz"  # suffix of RUNS and SCREENING, if they are large
FILES = (ABOUT, REGISTERED, RUNS, RUNS + COMPRESSED, SCREENING, SCREENING + COMPRESSED, STATISTICS)
PARTS = ("name", "study", "regime", "registration")
Runs = list[Run]


def write_about(folder: Path, about: About, registered: Mapping[str, object], seal: Seal) -> None:
    """Write study.json and registered.json.

    study.json gets a seal: digests by which later changes of the evidence are detected.
    registered.json has the study as it was registered before the runs, that is, every setting that
    decides a verdict.

    Args:
        folder: the folder of the evidence.
        about: the content of study.json, with the keys `PARTS`.
        registered: the content of registered.json; if it is empty (unknown), this file is not
            written.
        seal: the digests of the other files.
    """
    if registered:
        text = json.dumps(finite(dict(registered)), allow_nan=False)
        write_text(folder / REGISTERED, f"{text}\n")
    sealed = {**about, "seal": {ABOUT: _of_about(about), **seal}}
    write_json(folder / ABOUT, sealed)


def read_about(folder: Path) -> About:
    """Return the content of study.json after checking its digest.

    The digest is in the key `seal` of the file. The key `registered` of the result has the content
    of registered.json, or {} if this file does not exist.

    Raises:
        UserError: a file is missing, damaged, or was changed after it was sealed.
    """
    about = read_parts(folder)
    if "seal" not in about:
        raise UserError(
            f"{folder / ABOUT} has no key `seal` with checksums, so changes of the files would not "
            f"be noticed: run the study {about['name']} again"
        )
    if about["seal"].get(ABOUT) != _of_about(about):
        raise _changed(f"{folder / ABOUT}: name, regime or registration", about)
    for history in about["registration"].get("asked", {}).values():
        history["tried"] = [_as_reason(attempt) for attempt in history["tried"]]
    return about


def _as_reason(attempt: Any) -> Reason:
    """Return a reason as data; an earlier version stored it as a sentence."""
    return reason("recorded", text=attempt) if isinstance(attempt, str) else attempt


def read_parts(folder: Path) -> About:
    """Return the content of study.json without checking the digests in its seal.

    The key `registered` of the result has the content of registered.json, or {} if this file does
    not exist.

    Raises:
        UserError: a file is missing, damaged or malformed.
    """
    about = read_json(folder / ABOUT)
    check_form(str(folder / ABOUT), about, Begun)
    kept = folder / REGISTERED
    return cast(About, {**about, "registered": read_json(kept) if kept.exists() else {}})


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of a study's folder.

    Raises:
        UserError: the file is missing or damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not path.parent.exists():
            raise UserError(
                f"there is no folder {path.parent}: give the folder of a study, such as "
                "experiments/NAME"
            ) from None
        explanation = "give the folder of a study, such as experiments/NAME"
        raise UserError(f"{path} is missing: {explanation}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not the description of a study: it must be a JSON object")
    return content


def seal_of(folder: Path, runs: Runs, screening: Runs) -> Seal:
    """Return the seal of a folder of evidence: digests of each run and of statistics.npz.

    Args:
        folder: the folder of the evidence.
        runs: the runs of the study.
        screening: the runs that tuned a nuisance parameter.
    """
    seal = {RUNS: _of_runs(runs), SCREENING: _of_runs(screening)}
    return {**seal, STATISTICS: _of_file(folder / STATISTICS)}


def file_of_runs(folder: Path, name: str = RUNS) -> Path:
    """Return the path of a file with one run per line: plain, or compressed if it is large.

    Args:
        folder: the folder of the evidence.
        name: `RUNS`, or `SCREENING` for the runs that tuned a nuisance parameter.
    """
    compressed = folder / f"{name}{COMPRESSED}"
    return compressed if compressed.exists() else folder / name


def verify(folder: Path, about: About, runs: Runs, screening: Runs) -> None:
    """Raise UserError for the first run or file that does not match its digest in the seal.

    Args:
        folder: the folder of the evidence.
        about: the content of study.json, with the seal.
        runs: the runs of the study.
        screening: the runs that tuned a nuisance parameter.
    """
    for name, lines in ((RUNS, runs), (SCREENING, screening)):
        path, sealed = file_of_runs(folder, name), about["seal"].get(name)
        if not isinstance(sealed, dict):
            raise UserError(
                f"{ABOUT} has no checksums of {path}: if the sweep was stopped, start it again"
            )
        digests = _of_runs(lines)
        arms = {str(run["cell"]): f" ({run['arm']}, seed {run['seed']})" for run in lines}
        for cell in dict.fromkeys([*digests, *sealed]):
            if digests.get(cell) != sealed.get(cell):
                raise _changed(f"{path}: the run of cell {cell}{arms.get(cell, '')}", about)
    if about["seal"].get(STATISTICS) != _of_file(folder / STATISTICS):
        raise _changed(str(folder / STATISTICS), about)


def _changed(what: str, about: About) -> UserError:
    command = about["registration"].get("command") or (
        f"python -m ablate +experiment={about['name']} -m"
    )
    return UserError(
        f"{what} has changed since its checksum was recorded: restore the files, or run {command} "
        "again"
    )


def _of_about(about: About) -> str:
    fields: Mapping[str, object] = about
    return digest(finite({part: fields[part] for part in PARTS if part != "study"}))


def _of_runs(runs: Runs) -> dict[str, str]:
    return {str(run["cell"]): digest(finite(run)) for run in runs}


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

"""Check that the files of evidence are those that were written, and that no evidence was removed.

study.json has a seal: a digest of every run in runs.jsonl and screening.jsonl, of statistics.npz,
and of study.json except the study (which the hash of its registration covers). Every function that
reads evidence for a verdict checks the seal. It detects damage and careless edits, but it is not a
signature. Deliberate forgery is found by running the study again.

experiments/manifest.jsonl gets a sealed line whenever `ablate judge SWEEP to=experiments/NAME`
saves evidence: the claims of the study, and a digest of its runs. Lines are only appended. If a
folder was deleted, or was sealed again without some of its runs, it differs from the manifest. The
copy of the analysis log beside evidence lists the seeds that were analysed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ablate.config.catalogue import catalogue
from ablate.errors import UserError
from ablate.evidence.form import check_form
from ablate.evidence.looks import split_claims
from ablate.evidence.registration import digest
from ablate.evidence.types import About, Begun, Run, Seal, reason
from ablate.record.files import (
    SEAL,
    append_line,
    check_seal,
    finite,
    read_log,
    seal,
    write_json,
    write_text,
)

if TYPE_CHECKING:
    from ablate.evidence.folder import Evidence  # imports numpy

ABOUT, REGISTERED, STATISTICS = "study.json", "registered.json", "statistics.npz"
RUNS, SCREENING = "runs.jsonl", "screening.jsonl"
COMPRESSED = ".gz"  # suffix of RUNS and SCREENING, if they are large
FILES = (ABOUT, REGISTERED, RUNS, RUNS + COMPRESSED, SCREENING, SCREENING + COMPRESSED, STATISTICS)
PARTS = ("name", "study", "regime", "registration")
MANIFEST = "manifest.jsonl"
FOLDER = "experiments"  # name of folders in which evidence is kept


def write_about(folder: Path, about: About, registered: Mapping[str, object], seal: Seal) -> None:
    """Write study.json with a seal, and registered.json unless the registered study is unknown.

    Args:
        folder: the folder of the evidence.
        about: the content of study.json, with the keys `PARTS`.
        registered: the content of registered.json.
        seal: the digests of the other files.
    """
    if registered:
        text = json.dumps(finite(dict(registered)), allow_nan=False)
        write_text(folder / REGISTERED, f"{text}\n")
    write_json(folder / ABOUT, {**about, "seal": {ABOUT: _of_about(about), **seal}})


def read_about(folder: Path) -> About:
    """Return the content of study.json, and of registered.json under the key `registered` ({} if it
    does not exist), after checking the digest.

    Raises:
        UserError: a file is missing, damaged, or was changed after it was sealed.
    """
    about = read_parts(folder)
    _check(folder, about, {ABOUT: _of_about(about)})
    for history in about["registration"].get("asked", {}).values():
        # an earlier version stored reasons as sentences
        tried: list[Any] = history["tried"]
        history["tried"] = [reason("recorded", text=x) if isinstance(x, str) else x for x in tried]
    return about


def read_parts(folder: Path) -> About:
    """Return the content of study.json and registered.json without checking digests."""
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
        missing = (
            f"{path} is missing" if path.parent.exists() else f"there is no folder {path.parent}"
        )
        raise UserError(
            f"{missing}: give the folder of a study, such as experiments/NAME"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not the description of a study: it must be a JSON object")
    return content


def seal_of(folder: Path, runs: list[Run], screening: list[Run]) -> Seal:
    """Return the digests of each run and of statistics.npz, which are a part of the seal."""
    lines = ((RUNS, runs), (SCREENING, screening))
    digests = {name: {str(r["cell"]): digest(finite(r)) for r in of} for name, of in lines}
    of_file = hashlib.sha256((folder / STATISTICS).read_bytes()).hexdigest()[:16]
    return {**digests, STATISTICS: of_file}


def file_of_runs(folder: Path, name: str = RUNS) -> Path:
    """Return the path of a file with one run per line: plain, or compressed if it is large.

    Args:
        folder: the folder of the evidence.
        name: `RUNS`, or `SCREENING` for the runs that tuned a nuisance parameter.
    """
    compressed = folder / f"{name}{COMPRESSED}"
    return compressed if compressed.exists() else folder / name


def verify(folder: Path, about: About, runs: list[Run], screening: list[Run]) -> None:
    """Raise UserError for the first run or file that does not match its digest in the seal."""
    _check(folder, about, seal_of(folder, runs, screening), [*runs, *screening])


def _check(folder: Path, about: About, digests: Seal, runs: Iterable[Run] = ()) -> None:
    sealed = about.get("seal", {})
    names = {str(run["cell"]): f"{run['arm']}, seed {run['seed']}" for run in runs}
    for name, now in digests.items():
        before, place = sealed.get(name), str(file_of_runs(folder, name))
        if before is None:
            raise UserError(f"{folder / ABOUT} has no checksums of {place}: run the study again")
        if before != now:
            if isinstance(before, dict) and isinstance(now, dict):
                changed = next(x for x in {**now, **before} if now.get(x) != before.get(x))
                place += f": the run of cell {changed} ({names.get(changed, 'gone')})"
            study = f"python -m ablate +experiment={about['name']} -m"
            command = about["registration"].get("command") or study
            raise UserError(
                f"{place} has changed since its checksum was recorded: restore the files, or run "
                f"{command} again"
            )


def _of_about(about: About) -> str:
    fields: Mapping[str, object] = about
    return digest(finite({part: fields[part] for part in PARTS if part != "study"}))


def digest_of_runs(sealed: Mapping[str, object]) -> str:
    """Return a single digest of all runs, from the seal of their evidence."""
    return digest(sealed.get(RUNS))


@dataclass(frozen=True)
class KeptStudy:
    """A line of the manifest: the saved evidence of the study in the folder `name`.

    `claims` has id and reading of every judged claim, `runs` the number of runs, `digest` their
    digest. `logged` says whether a copy of the analysis log was saved, too.
    """

    name: str
    claims: list[list[str]]
    runs: int
    digest: str
    logged: bool


def sealed_lines(path: Path, *, strict: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the objects in a file to which sealed lines are appended; an incomplete last line is
    skipped, and nothing is yielded if the file does not exist.

    Args:
        path: the file.
        strict: whether every line must have a seal. Early analysis logs have none.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    for number, line in enumerate(read_log(path).split("\n")[:-1], 1):
        try:
            record = json.loads(line)
            intact = check_seal(record) or not (strict or SEAL in record)
            record.pop(SEAL, None)
        except (ValueError, TypeError, AttributeError, RecursionError):
            intact = False
        if not intact:
            raise UserError(f"{path}: line {number} is damaged or was edited: restore the file")
        yield record


def read_manifest(folder: Path) -> dict[str, KeptStudy]:
    """Return the last manifest line of every study, by name of the study's folder.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    lines = (KeptStudy(**line) for line in sealed_lines(folder / MANIFEST, strict=True))
    return {study.name: study for study in lines}


def keep(folder: Path, evidence: "Evidence", *, logged: bool) -> None:
    """Append a line to the manifest for evidence that was saved in a folder of the catalogue or of
    a folder `experiments`, unless the last line of the study says the same.

    Args:
        folder: the folder of the evidence.
        evidence: the evidence.
        logged: whether a copy of the analysis log was saved, too.
    """
    folder = folder.resolve()
    if folder.parent.name != FOLDER and folder.parent != catalogue():
        return
    judged, _ = split_claims(evidence.runs, evidence.study)
    claims = [[claim["id"], claim.get("reading") or ""] for claim in judged]
    runs = digest_of_runs(seal_of(folder, evidence.runs, evidence.screening))
    study = KeptStudy(folder.name, claims, len(evidence.runs), runs, logged)
    if read_manifest(folder.parent).get(folder.name) != study:
        append_line(folder.parent / MANIFEST, json.dumps(seal(asdict(study))))


def check_manifest(folder: Path, evidence: "Evidence", log: Path) -> None:
    """Check that evidence matches its line in the manifest.

    Raises:
        UserError: the manifest is damaged, the runs differ from the runs in the manifest, or the
            analysis log is missing although the manifest names it.
    """
    folder = folder.resolve()
    study = read_manifest(folder.parent).get(folder.name)
    if study is None:
        return
    if digest_of_runs(seal_of(folder, evidence.runs, evidence.screening)) != study.digest:
        raise UserError(
            f"{folder}: the digest of the {len(evidence.runs)} runs in runs.jsonl differs from the "
            f"one of {study.runs} runs in {MANIFEST}: restore runs.jsonl, or save a new sweep in "
            "this folder with to="
        )
    if study.logged and not log.exists():
        raise UserError(f"{log} is missing, but {MANIFEST} names it: restore it")

"""Keep the manifest, a list of all studies whose evidence was ever saved in a folder.

No run may be removed from the evidence after the run was analysed.

experiments/manifest.jsonl gets a sealed line whenever `ablate judge SWEEP to=experiments/NAME`
saves evidence: the claims of the study, and a digest of its runs. Lines are only appended. If a
folder was deleted, or was sealed again without some of its runs, the folder differs from the
manifest. The ledger (the list of all verdicts) and `judge` then report the difference.

The analysis log lists the seeds that were analysed. Their runs must not be removed afterwards.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.config.catalogue import catalogue
from ablate.errors import UserError
from ablate.evidence.analysis_log import ANALYSIS_LOG, AnalysisLog, Seed, seed_of
from ablate.evidence.looks import split_claims
from ablate.evidence.registration import digest
from ablate.evidence.seal import RUNS, seal_of
from ablate.phrases import listed
from ablate.record.files import SEAL, append_line, check_seal, read_log, seal, writing

if TYPE_CHECKING:
    from ablate.evidence.folder import Evidence  # imports numpy

MANIFEST = "manifest.jsonl"
FOLDER = "experiments"  # name of folders in which evidence is kept


@dataclass(frozen=True)
class KeptStudy:
    """A line of the manifest, which describes the saved evidence of one study.

    Args:
        name: name of the folder.
        claims: (id, reading) of every judged claim. A reading is one of several ways to understand
            a claim, and "" for a claim that has only one.
        runs: number of runs.
        digest: digest of all runs, as in the seal of study.json.
        logged: whether a copy of the analysis log was saved, too.
    """

    name: str
    claims: list[tuple[str, str]]
    runs: int
    digest: str
    logged: bool


def read_manifest(folder: Path) -> dict[str, KeptStudy]:
    """Return the last manifest line of every study, by name of the study's folder.

    Raises:
        UserError: the file cannot be read, or a line was changed after it was written.
    """
    return {line.name: line for line in _lines(folder / MANIFEST)}


def _lines(path: Path) -> Iterator[KeptStudy]:
    for number, line in enumerate(read_log(path).splitlines(), 1):
        try:
            fields = json.loads(line)
            intact = check_seal(fields)
            del fields[SEAL]
            claims = [(str(claim), str(reading)) for claim, reading in fields.pop("claims")]
            study = KeptStudy(claims=claims, **fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            intact = False
        if not intact:
            raise UserError(f"{path}: line {number} is damaged or was edited: restore the file")
        yield study


def keep(folder: Path, evidence: "Evidence", *, logged: bool) -> None:
    """Append a line to the manifest, for evidence that was saved in a folder of the catalogue or of
    a folder `experiments`.

    Do nothing for evidence in another folder, or if the last line of the study says the same.

    Args:
        folder: the folder of the evidence.
        evidence: the evidence.
        logged: whether a copy of the analysis log was saved, too.

    Raises:
        UserError: the manifest is damaged or cannot be written.
    """
    folder = folder.resolve()
    if folder.parent.name != FOLDER and folder.parent != catalogue():
        return
    judged, _ = split_claims(evidence.runs, evidence.study)
    study = KeptStudy(
        folder.name,
        [(claim["id"], claim.get("reading") or "") for claim in judged],
        len(evidence.runs),
        digest_of_runs(seal_of(folder, evidence.runs, evidence.screening)),
        logged,
    )
    if read_manifest(folder.parent).get(folder.name) != study:
        with writing(folder.parent / MANIFEST):
            append_line(folder.parent / MANIFEST, json.dumps(seal(asdict(study))))


def digest_of_runs(sealed: Mapping[str, object]) -> str:
    """Return a single digest of all runs.

    Args:
        sealed: the seal of the evidence, that is, the hashes of its parts as they are stored in
            study.json.
    """
    return digest(sealed.get(RUNS))


def check_log(folder: Path, evidence: "Evidence") -> None:
    """Check that the runs include all seeds that were analysed according to the analysis log.

    The log is beside committed evidence, or in the results folder of a sweep. Older evidence, and
    evidence from W&B, has no log.

    Raises:
        UserError: the log is damaged, or lists seeds that are missing among the runs.
    """
    sweep = evidence.registration.get("sweep")
    place = _place_of_log(folder.resolve(), sweep) if sweep else None
    if place is None:
        return
    log = AnalysisLog.read(place)
    looks = [look for look in log.looks if look.folder == sweep]
    replicate = next(
        (sweep_line.replicate for sweep_line in log.sweeps if sweep_line.folder == sweep), 0
    )
    runs: set[Seed] = {seed_of(run, replicate) for run in evidence.runs}
    gone = {seed for look in looks for seed in (*look.seeds, *look.failed)} - runs
    if gone:
        seeds = listed([seed for _, seed in sorted(gone)])
        raise UserError(
            f"{folder}: {ANALYSIS_LOG} records an analysis of seed{'s' * (len(gone) > 1)} {seeds}, "
            "but runs.jsonl has no such runs: restore runs.jsonl, or run the sweep again"
        )


def _place_of_log(folder: Path, sweep: str) -> Path | None:
    """Return the folder of the analysis log for some evidence: the folder of the evidence if it has
    a log, else the folder of all results; None if neither has a log.

    Args:
        folder: the folder of the evidence.
        sweep: the folder of the sweep that made the runs, relative to the folder of all results.
    """
    if (folder / ANALYSIS_LOG).exists():
        return folder
    results = Path(str(folder).removesuffix(sweep))
    return results if results != folder and (results / ANALYSIS_LOG).exists() else None


def check_manifest(folder: Path, evidence: "Evidence") -> None:
    """Check that committed evidence matches its line in the manifest, the list of all studies whose
    evidence was ever saved.

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
    if study.logged and not (folder / ANALYSIS_LOG).exists():
        raise UserError(f"{folder}: {ANALYSIS_LOG} is missing, but {MANIFEST} names it: restore it")

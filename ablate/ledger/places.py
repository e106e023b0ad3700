"""Find the files with verdicts: those of the committed evidence, and the user's own; and evidence
that is missing, although the manifest or the analysis log still lists it.

The committed evidence is in the catalogue. A folder `experiments` elsewhere has evidence that the
user has saved, and `results/sweeps` has the user's sweeps. The manifest lists all evidence that was
ever saved in such a folder. The analysis log lists all sweeps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ablate.config.catalogue import catalogue
from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.evidence.digest import (
    ABOUT,
    RUNS,
    KeptStudy,
    digest_of_runs,
    file_of_runs,
    read_manifest,
    read_parts,
)
from ablate.evidence.log import ANALYSIS_LOG, AnalysisLog, Sweep
from ablate.ledger.claims import read_readings
from ablate.verdict.replication import RESULT

COMMITTED, KEPT, SWEEP = "committed", "your experiment", "your sweep"
# verdicts of a later origin never change headlines of an earlier one
ORIGINS = (COMMITTED, KEPT, SWEEP)
VERDICT = "verdict.json"
LOCAL = Path("experiments")


def verdict_files(experiments: Path | None, results: Path) -> Iterator[tuple[str, Path]]:
    """Yield the origin (one of `ORIGINS`) and the path of every verdict.json.

    Newer sweeps come last.

    Replications are left out, because each is stored beside the verdict that it repeats.

    Args:
        experiments: folder with evidence, which replaces all other folders except sweeps; None for
            the catalogue and the user's folder.
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
    """Yield (origin, path of a verdict.json) for the verdicts of the catalogue, with origin
    `COMMITTED`, and for the other verdicts in the user's folder `experiments`, with origin `KEPT`.

    A verdict that is the same in both places is yielded once: with the origin `COMMITTED`, and with
    the path in the user's folder, because the runs are there.
    """
    here = {path.relative_to(LOCAL): path for path in _within(LOCAL)}
    home = catalogue()
    for path in _within(home) if home else []:
        name = path.relative_to(home or LOCAL)
        same = name in here and path.read_bytes() == here[name].read_bytes()
        yield COMMITTED, here.pop(name) if same else path
    yield from ((KEPT, path) for path in here.values())


def _within(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"**/{VERDICT}"))


@dataclass(frozen=True)
class Gone:
    """Evidence on a claim that is missing or was changed.

    Args:
        claim: id of the claim; "" if the analysis log does not name it.
        reading: the reading (one of several meanings of the sentence) that was judged.
        origin: one of ablate.ledger.places.ORIGINS.
        experiment: the folder that had the evidence.
        why: what is missing, as the end of a sentence.
    """

    claim: str
    reading: str
    origin: str
    experiment: str
    why: str

    @property
    def remark(self) -> bool:
        """Whether no document states the reading (the meaning of the claim) for which evidence is
        missing.

        A verdict on such a reading does not count.
        """
        asked = read_readings().get((self.claim, self.reading))
        return bool(asked and asked.remark)

    def __str__(self) -> str:
        """Return a sentence that names the experiment whose evidence is missing, and what is
        missing.
        """
        return f"Evidence is missing: of {self.experiment} ({self.origin}), {self.why}."


def missing_evidence(experiments: Path | None, results: Path) -> tuple[list[Gone], list[str]]:
    """Return all missing evidence, and a warning for each damaged file.

    Args:
        experiments: folder with evidence; None for the catalogue and the user's folder.
        results: folder of all results, with the user's sweeps.
    """
    sources = [*_manifests(experiments), (SWEEP, results)]
    missing: list[Gone] = []
    warnings = []
    for origin, folder in sources:
        try:
            missing += (
                _missing_sweeps(folder) if origin == SWEEP else _missing_studies(origin, folder)
            )
        except UserError as error:
            warnings.append(str(error))
    return missing, warnings


def _manifests(experiments: Path | None) -> Iterator[tuple[str, Path]]:
    if home := experiments or catalogue():
        yield COMMITTED, home
    if experiments is None and LOCAL.resolve() != home:
        yield KEPT, LOCAL


def _missing_studies(origin: str, folder: Path) -> Iterator[Gone]:
    """Yield an object for each claim of each saved study whose evidence is missing or changed.

    The manifest in `folder` lists all studies that were ever saved in this folder. A study is
    missing if one of its files is missing, or if its runs differ from the runs that were saved.

    Args:
        origin: `COMMITTED` for the studies of the catalogue; `KEPT` for the user's studies, without
            those that the catalogue's manifest lists, too.
        folder: the catalogue, or the user's folder.
    """
    home = catalogue()
    committed = read_manifest(home) if origin == KEPT and home else {}
    for study in read_manifest(folder).values():
        if study.name not in committed and (why := _lost(folder / study.name, study)):
            for claim, reading in study.claims:
                yield Gone(claim, reading, origin, study.name, why)


def _lost(folder: Path, study: KeptStudy) -> str:
    if not (folder / VERDICT).exists():
        return f"{VERDICT} of the {study.runs} runs that were kept is gone"
    for path in (folder / ABOUT, file_of_runs(folder)):
        if not path.exists():
            return f"{path.name} of the {study.runs} runs that were kept is gone"
    if digest_of_runs(read_parts(folder).get("seal", {})) != study.digest:
        return f"{RUNS} does not have the {study.runs} runs that were kept"
    if study.logged and not (folder / ANALYSIS_LOG).exists():
        return f"{ANALYSIS_LOG} is gone, which says what was looked at"
    return ""


def _missing_sweeps(results: Path) -> Iterator[Gone]:
    """Yield an object for each claim of each sweep that was analysed, but whose verdict.json is
    missing.

    Smoke tests, replications, parts of a study and sweeps whose evidence the user has saved are
    left out. A sweep is also left out if a later sweep in the same setting has the same study or
    asks the same questions, and has a verdict: the later sweep contains the seeds of the earlier
    sweep, or reports that they are missing.
    """
    log = AnalysisLog.read(results)
    begun = {sweep.folder: sweep for sweep in log.sweeps}
    looked = {look.folder for look in log.looks}
    there = [line for line in begun.values() if (results / line.folder / VERDICT).exists()]
    lost = [begun[folder] for folder in looked & begun.keys() if begun[folder] not in there]
    kept = _kept_sweeps() if lost else set()
    kept |= {sweep.folder for sweep in lost if _is_part(results / sweep.folder)}
    for sweep in sorted(lost, key=lambda sweep_line: sweep_line.time):
        if not (_is_aside(sweep) or sweep.folder in kept or _is_followed(sweep, there)):
            for claim, reading in sweep.claims or [["", ""]]:
                yield Gone(claim, reading, SWEEP, sweep.folder, f"{VERDICT} is gone")


def _is_part(folder: Path) -> bool:
    """Return whether a folder has a part of a study, which has no verdict."""
    return (folder / ABOUT).exists() and bool(read_parts(folder)["registration"].get("part"))


def _is_aside(sweep: Sweep) -> bool:
    """Return whether a sweep decides nothing, because it is a smoke test or a replication."""
    return sweep.contest or sweep.regime.get("scale") == SMOKE


def _is_followed(sweep: Sweep, sweeps: Sequence[Sweep]) -> bool:
    """Return whether a later sweep in the same setting tested every claim that this sweep
    tested.
    """
    return any(
        other.time > sweep.time
        and other.regime == sweep.regime
        and (
            other.study == sweep.study
            or (bool(sweep.questions) and other.questions.keys() >= sweep.questions.keys())
        )
        for other in sweeps
    )


def _kept_sweeps() -> set[str]:
    """Return the folders of the sweeps whose evidence was saved in the catalogue or in the user's
    folder.
    """
    folders = filter(None, (LOCAL, catalogue()))
    studies = (read_parts(path.parent) for f in folders for path in f.glob(f"*/{ABOUT}"))
    return {sweep for study in studies if (sweep := study["registration"].get("sweep"))}

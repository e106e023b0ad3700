"""Check that no runs were removed from the evidence of a study after they were analysed.

The analysis log lists the seeds that were analysed. The manifest (ablate.evidence.manifest) lists
all studies in a folder of committed evidence, with digests of their runs.
"""

from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.analysis_log import ANALYSIS_LOG, AnalysisLog, Seed
from ablate.evidence.earlier_sweeps import seed_of
from ablate.evidence.folder import Evidence
from ablate.evidence.manifest import MANIFEST, digest_of_runs, read_manifest
from ablate.evidence.seal import seal_of
from ablate.phrases import listed


def check_log(folder: Path, evidence: Evidence) -> None:
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


def check_manifest(folder: Path, evidence: Evidence) -> None:
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

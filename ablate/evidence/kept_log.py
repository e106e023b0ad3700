"""Whether evidence has every run that the analysis log beside it has seen."""

from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.analysis_log import BOOK, Book, Seed
from ablate.evidence.earlier_sweeps import seed_of
from ablate.evidence.folder import Evidence
from ablate.phrases import listed


def check_log(folder: Path, evidence: Evidence) -> None:
    """Compare the seeds of the runs with those that the log beside the evidence has.

    Older evidence, and evidence from W&B, has no log.

    Raises:
        UserError: the log is damaged, or has seeds that are not among the runs.
    """
    sweep = evidence.registration.get("sweep")
    if sweep is None or not (folder / BOOK).exists():
        return
    book = Book.read(folder)
    looks = [look for look in book.looks if look.folder == sweep]
    replicate = next((one.replicate for one in book.sweeps if one.folder == sweep), 0)
    runs: set[Seed] = {seed_of(run, replicate) for run in evidence.runs}
    gone = {seed for look in looks for seed in (*look.seeds, *look.failed)} - runs
    if gone:
        seeds = listed([seed for _, seed in sorted(gone)])
        raise UserError(
            f"{folder}: {BOOK} has a look at seed{'s' * (len(gone) > 1)} {seeds}, whose runs are "
            "not in runs.jsonl: restore them, or run the sweep again"
        )

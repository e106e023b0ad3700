"""The evidence of a sweep that has ended, from W&B or from its folder."""

from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.record.files import check_links
from ablate.verdict.load import load_evidence


def from_wandb(project: str, group: str) -> Evidence:
    """Read the latest sweep of a group, and say where its results are from.

    Raises:
        UserError: W&B is not reached, or does not have it.
    """
    from ablate.wandb.fetch import connect, fetch

    found = fetch(connect(), project, group)
    runs = len(found.evidence.runs)
    print(f"{found.analysis}: {found.own} of {runs} results are from the W&B runs themselves.")
    if found.own < runs:
        print("The others are from the evidence that was logged with the verdict.")
    return found.evidence


def from_folder(folder: Path) -> Evidence:
    """Read the evidence that a sweep with a study leaves in its folder, or under experiments/.

    Raises:
        UserError: the folder is not that of a sweep with a study that has ended.
    """
    from ablate.evidence.gather import gather

    check_links(folder, folder)
    if (folder / "runs.jsonl").exists() or not (folder / "cells").is_dir():
        return load_evidence(folder)
    check_cells(folder)
    evidence = gather(folder)
    if "looks" not in evidence.registration:  # a look that nobody counts
        raise UserError(
            f"{folder} is of a sweep without a study, or of one that has not ended: the same "
            "command goes on with it"
        )
    return evidence


def check_cells(sweep: Path) -> None:
    """Refuse a sweep whose cells say that the records of their runs lie outside of its results."""
    from ablate.evidence.gather import SCREENING
    from ablate.record.links import read_links

    results = (sweep.resolve() / "../../..").resolve()  # it is RESULTS/sweeps/NAME/TIME
    for link in (*read_links(sweep), *read_links(sweep / SCREENING)):
        ends = (link, link.get("short", {}))
        for record in (end[key] for end in ends for key in ("folder", "evaluation") if key in end):
            if not Path(record).resolve().is_relative_to(results):
                raise UserError(
                    f"{sweep}: cell {link['cell']} is at {record}, outside of {results}"
                )

"""Load the evidence of a finished sweep from its folder."""

from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.digest import file_of_runs
from ablate.evidence.folder import Evidence
from ablate.record.files import check_links
from ablate.verdict.study_checks import load_evidence


def from_folder(folder: Path) -> Evidence:
    """Return the evidence of a sweep with a study, from its folder or from a folder in
    experiments/.

    Raises:
        UserError: the folder is not a finished sweep with a study.
    """
    from ablate.evidence.gather import gather

    check_links(folder, folder)
    if file_of_runs(folder).exists() or not (folder / "cells").is_dir():
        return load_evidence(folder)
    check_cells(folder)
    evidence = gather(folder)
    if not evidence.has_ended:  # the analysis would not be logged
        raise UserError(
            f"{folder} is a sweep without a study, or one that has not ended: start the same "
            "command again to continue it"
        )
    return evidence


def check_cells(sweep: Path) -> None:
    """Raise UserError if a sweep refers to folders of runs outside its results folder."""
    from ablate.evidence.gather import SCREENING
    from ablate.record.links import read_links

    # the folder of the sweep is RESULTS/sweeps/NAME/TIME
    results = (sweep.resolve() / "../../..").resolve()
    for link in (*read_links(sweep), *read_links(sweep / SCREENING)):
        ends = (link, link.get("short", {}))
        for record in (end[key] for end in ends for key in ("folder", "evaluation") if key in end):
            if not Path(record).resolve().is_relative_to(results):
                raise UserError(
                    f"{sweep}: cell {link['cell']} is at {record}, outside of {results}"
                )

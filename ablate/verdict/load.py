"""Load the evidence of a study, and check that it can be judged."""

from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.kept_log import check_log, check_manifest
from ablate.evidence.seal import ABOUT
from ablate.verdict.study_checks import check_study


def load_evidence(folder: Path) -> Evidence:
    """Read the evidence of a study, and check that it is complete and can be judged.

    Raises:
        UserError: a file is missing, damaged or malformed, or was changed after its digest was
            stored in study.json (its seal); runs that the analysis log names are missing; or no
            rule can decide a claim. The message names the file.
    """
    evidence = Evidence.load(folder)
    check_manifest(folder, evidence)
    check_log(folder, evidence)
    try:
        check_study(evidence.study)
    except UserError as error:
        raise UserError(f"{folder / ABOUT}: {error}") from None
    return evidence

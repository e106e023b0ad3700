"""Evidence that a rule can decide, from its folder."""

from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.kept_log import check_log, check_manifest
from ablate.evidence.seal import ABOUT
from ablate.verdict.study_checks import check_study


def load_evidence(folder: Path) -> Evidence:
    """Read the evidence of a study and check that its runs are all there and can be judged.

    Raises:
        UserError: a file is missing, damaged, malformed, or not as it was sealed, runs that the
            analysis log has are gone, or no rule could decide a claim; the sentence names the file.
    """
    evidence = Evidence.load(folder)
    check_manifest(folder, evidence)
    check_log(folder, evidence)
    try:
        check_study(evidence.study)
    except UserError as error:
        raise UserError(f"{folder / ABOUT}: {error}") from None
    return evidence

"""`ablate.compare` and `ablate.judge`: from a source of runs to a verdict."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ablate.evidence.foreign import source
from ablate.referee.decide import judge_runs
from ablate.referee.question import Question, question, read_question
from ablate.referee.registration import registration
from ablate.referee.verdict import Verdict, verdict


def compare(runs: Any, **asked: Any) -> Verdict:
    """Return the verdict on the runs of a source; `ablate.compare` has the documentation."""
    return _verdict(runs, question(asked), None)


def judge(runs: Any, study: str | PathLike[str] | Mapping[str, object]) -> Verdict:
    """Return the verdicts of a study on the runs of a source."""
    if isinstance(study, Mapping):
        return _verdict(runs, question(study), None)
    path = Path(study).expanduser()
    return _verdict(runs, read_question(path), path)


def _verdict(runs: Any, asked: Question, study: Path | None) -> Verdict:
    table = source.read(runs, asked.columns)
    counted, judged = judge_runs(asked, table)
    return verdict(asked, counted, judged, registration(study, asked, counted))

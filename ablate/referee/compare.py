"""`ablate.compare` and `ablate.judge`: from a source of runs to a verdict."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ablate.evidence.foreign import source
from ablate.evidence.foreign.frame import is_frame
from ablate.evidence.foreign.table import Table
from ablate.evidence.foreign.wandb_api import place_of, read_project
from ablate.referee.decide import judge_runs
from ablate.referee.question import Question, question, read_question
from ablate.referee.registration import registration
from ablate.referee.verdict import Verdict, verdict

WANDB = "wandb://"


def compare(runs: Any, **asked: Any) -> Verdict:
    """Return the verdict on the runs of a source; `ablate.compare` has the documentation."""
    return _verdict(runs, question(asked), None)


def judge(runs: Any, study: str | PathLike[str] | Mapping[str, object]) -> Verdict:
    """Return the verdicts of a study on the runs of a source."""
    if isinstance(study, Mapping):
        return _verdict(runs, question(study), None)
    path = Path(study).expanduser()
    return _verdict(runs, read_question(path), path)


def read(runs: Any, wanted: Iterable[str]) -> Table:
    """Return the runs of any source, those of a W&B project too.

    Raises:
        UserError: there is no such source, it cannot be read, or W&B needs a login.
    """
    if is_frame(runs) or not str(runs).startswith(WANDB):
        return source.read(runs, wanted)
    from ablate.wandb.fetch import connect  # W&B

    place = str(runs).removeprefix(WANDB)
    place_of(place)
    return read_project(connect(), place, wanted)


def _verdict(runs: Any, asked: Question, study: Path | None) -> Verdict:
    table = read(runs, asked.columns)
    counted, judged = judge_runs(asked, table)
    return verdict(asked, counted, judged, registration(study, asked, counted))

"""Implement `ablate.compare` and `ablate.judge`, which return verdicts on a table of runs."""

import io
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.config.labels import use_labels
from ablate.console import make_console
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.foreign.logs import Row
from ablate.evidence.foreign.source import read
from ablate.evidence.types import Verdict
from ablate.record.files import check_writable, finite
from ablate.referee.evidence import evidence_of
from ablate.referee.question import Question, question_of, read_question
from ablate.report.terminal import announce
from ablate.verdict.conclude import conclude
from ablate.words.answer import with_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

WIDTH = 100_000  # of the text of a verdict, so that no line is broken


class Comparison:
    """The verdicts on the claims about a table of runs, which can be printed, drawn, converted to
    plain data, and written to a folder.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.verdict: Verdict = with_words(conclude(evidence))

    def __str__(self) -> str:
        use_labels(self.evidence.registration["labels"])
        file = io.StringIO()
        announce(make_console(file=file, width=WIDTH), self.verdict)
        return file.getvalue().strip()

    def to_dict(self) -> Row:
        """Return everything as plain data, as in verdict.json.

        The "effect" of a claim is positive if the treatment is better.
        """
        return finite(dict(self.verdict))

    def to_frame(self) -> "DataFrame":
        """Return a data frame with a row per claim: verdict, effect, interval and p-values."""
        import pandas as pd

        keys = ("id", "reading", "verdict", "grade", "effect", "margin", "method", "headline")
        rows = []
        for claim in self.to_dict()["claims"]:
            low, high = claim["interval"] or (None, None)
            p = {f"p {side}": value for side, value in claim["p"].items()}
            rows.append({**{key: claim.get(key) for key in keys}, "low": low, "high": high, **p})
        return pd.DataFrame(rows)

    def plot(self) -> "Figure":
        """Return a figure with the effect of every claim; without an effect, with every run."""
        from ablate.report.figures import figures

        use_labels(self.evidence.registration["labels"])
        return next(figures(self.evidence, self.verdict)).picture

    def write(self, folder: Path) -> None:
        """Write verdict.json, report.md and the figures into a folder.

        Raises:
            UserError: the folder cannot be written.
        """
        from ablate.report.write import write_files

        use_labels(self.evidence.registration["labels"])
        check_writable(folder)
        write_files(self.evidence, self.verdict, folder)


def compare(runs: Any, **asked: Any) -> Comparison:
    """Return the verdict on a source of runs; `ablate.compare` documents the arguments."""
    return _compare(runs, question_of(asked))


def judge(runs: Any, study: str | PathLike[str] | Mapping[str, object]) -> Comparison:
    """Return the verdicts of a study on the runs of a source; `ablate.judge` documents the
    arguments.
    """
    if isinstance(study, Mapping):
        return _compare(runs, question_of(study))
    return _compare(runs, read_question(Path(study).expanduser()))


def _compare(runs: Any, question: Question) -> Comparison:
    evidence = evidence_of(read(runs, question.columns), question)
    if not evidence.study["claims"]:
        raise UserError("there is no claim: name a baseline that has another arm, or a target")
    return Comparison(evidence)

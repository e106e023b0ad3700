"""Implement `ablate.compare` and `ablate.judge`, which return verdicts on a table of runs."""

import math
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign import source
from ablate.evidence.foreign.frame import is_frame
from ablate.evidence.foreign.table import Table
from ablate.evidence.foreign.wandb_api import place_of, read_project
from ablate.referee.decide import judge_runs
from ablate.referee.question import Question
from ablate.referee.reading import design_of, question, read_question
from ablate.referee.runs import runs_of
from ablate.referee.trust import steps
from ablate.referee.verdict import Verdict, verdict
from ablate.stats.means import variance_of

WANDB = "wandb://"


def compare(runs: Any, **asked: Any) -> Verdict:
    """Return the verdict on a source of runs; `ablate.compare` documents the arguments."""
    return _verdict(runs, question(asked))


def judge(runs: Any, study: str | PathLike[str] | Mapping[str, object]) -> Verdict:
    """Return the verdicts of a study on the runs of a source; `ablate.judge` documents the
    arguments.
    """
    if isinstance(study, Mapping):
        return _verdict(runs, question(study))
    return _verdict(runs, read_question(Path(study).expanduser()))


def spread(
    runs: Any, baseline: str | None, **columns: str | None
) -> tuple[float, float, list[str]]:
    """Return the standard deviation of an arm's runs, its degrees of freedom, and reasons to doubt
    them.

    Args:
        runs: a source of runs, as for `ablate.compare`.
        baseline: name of the arm.
        **columns: the columns `metric`, `arm` (None if all runs are one arm), `run` and `step`
            (None if each row is a run).

    Raises:
        UserError: the metric is missing, `arm` is given without `baseline` or the reverse, `run`
            without `step` or the reverse, there is no such arm, or its runs do not vary.
    """
    if not columns["metric"] or bool(columns["arm"]) != bool(baseline):
        raise UserError("a table needs --metric, and --arm and --baseline together or not at all")
    design = design_of({"better": "lower", **{k: name for k, name in columns.items() if name}})
    table = read(runs, design.columns, design.names)
    counted = runs_of(table, design)
    values = counted.values[counted.of_arm(baseline, "baseline")]
    values = values[np.isfinite(values)]
    variance = variance_of(values)
    if variance is None or not variance.value:
        raise UserError(
            f"{design.metric}: {len(values)} runs show no run-to-run variation; give at least two "
            "runs with different values"
        )
    return math.sqrt(variance.value), variance.df, [*steps(design, design.columns, table)]


def read(runs: Any, wanted: Iterable[str], names: Iterable[str]) -> Table:
    """Return the table of any source of runs, including a W&B project.

    Args:
        runs: a source of runs, as for `ablate.compare`.
        wanted: the columns to read.
        names: those of them that have names, which are texts as they are written.

    Raises:
        UserError: there is no such source, it cannot be read, or W&B needs a login.
    """
    if is_frame(runs) or not str(runs).startswith(WANDB):
        return source.read(runs, wanted, names)
    from ablate.wandb.connection import connect  # imports W&B

    place = str(runs).removeprefix(WANDB)
    place_of(place)
    return read_project(connect(), place, wanted, names)


def _verdict(runs: Any, asked: Question) -> Verdict:
    table = read(runs, asked.columns, asked.names)
    return verdict(asked, *judge_runs(asked, table))

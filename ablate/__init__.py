"""Executable claims about the Transformer: from a sentence to runs to a verdict."""

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from ablate.referee.verdict import Verdict

__version__ = "0.1.0"


def load(source: str | PathLike[str] = "results", *, curves: bool = False) -> "DataFrame":
    """Return runs as a data frame of pandas.

    Args:
        source: the folder of a sweep, `results/sweeps/NAME/TIME`; that of committed evidence,
            `experiments/NAME`; a folder of such folders; or `results`, which is every run that has
            ended, in a sweep or alone.
        curves: a row for every validation of a run, with its `step`, in place of a row per run.

    Returns:
        A row per run, and another for its short budget if it has one. Columns: `experiment`; a
        column per factor with the level; `arm`, `seed` and `status` (finished, diverged, collapsed,
        failed); a column per metric by its key, such as `test/bleu`, empty where a run has none;
        `seconds`; `identity`, the name of its folder below `results/runs`. Of `results`, the
        factors are the keys of the config that differ between runs (a component has the name of its
        class), and a run has a row for each way it was tested, which `test` names. The method
        `to_csv` of the frame writes it.

    Raises:
        UserError: the folder has no runs, or a record was changed or damaged.
    """
    from pathlib import Path

    from ablate.sweep.frame import frame

    return frame(Path(source).expanduser(), curves=curves)


def compare(runs: Any, *, metric: str, better: str, **design: Any) -> "Verdict":
    """Return the verdict on arms of runs that were trained elsewhere.

    Args:
        runs: a data frame of pandas, the path of a table (CSV, TSV, JSONL, Parquet), a folder of
            TensorBoard, Lightning or offline W&B runs, or "wandb://ENTITY/PROJECT".
        metric: the column with the result of a run.
        better: "lower" or "higher".
        **design: `arm`, the column (or columns) with the arm of a run; `treatment`, by default
            every arm except the baseline; `baseline`, an arm or a number to be reached; `margin`,
            the smallest difference that matters; `kind`, `pair`, `group`, `where`, `noise` and all
            other keys of a study, which docs/howto/referee.md lists.

    Returns:
        A verdict: print it, or read its `headline`, `evidence` and `details`, or call `to_dict()`,
        `to_frame()`, `plot()` or `write(folder)`.

    Raises:
        UserError: the runs cannot be read, or they cannot answer the question.
    """
    from ablate.referee.compare import compare

    return compare(runs, metric=metric, better=better, **design)


def judge(runs: Any, study: "str | PathLike[str] | Mapping[str, object]") -> "Verdict":
    """Return the verdicts of a study on runs that were trained elsewhere.

    Args:
        runs: as for `compare`.
        study: the path of a YAML file with the question, or the same as plain data.

    Raises:
        UserError: the runs or the study cannot be read, or the runs cannot answer the question.
    """
    from ablate.referee.compare import judge

    return judge(runs, study)

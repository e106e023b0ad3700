"""Executable claims about the Transformer: from a sentence to runs to a verdict."""

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

__version__ = "0.1.0"


def load(source: str | PathLike[str] = "results") -> "DataFrame":
    """Return runs as a data frame of pandas.

    Args:
        source: the folder of a sweep, `results/sweeps/NAME/TIME`; that of committed evidence,
            `experiments/NAME`; a folder of such folders; or `results`, which is every run that has
            ended, in a sweep or alone.

    Returns:
        A row per run, and one more for its short budget where it has two. Columns: `experiment`; a
        column per factor with the level; `arm`, `seed` and `status` (finished, diverged, collapsed,
        failed); a column per metric by its key, such as `test/bleu`, empty where a run has none;
        `seconds`; `identity`, the name of its folder below `results/runs`. Of `results`, a row per
        run and way of testing, with a column for every key of the config that differs between
        runs: a component has the name of its class.

    Raises:
        UserError: the folder has no runs, or a record was changed or damaged.
    """
    from pathlib import Path

    from ablate.sweep.frame import frame

    return frame(Path(source).expanduser())

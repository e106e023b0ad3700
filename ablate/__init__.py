"""Executable claims about the Transformer: a claim is a sentence with an experiment that decides
whether the sentence is supported.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from ablate.model import Model
    from ablate.referee.compare import Comparison

__version__ = "1.0.0"


def load(source: str | PathLike[str] = "results", *, curves: bool = False) -> "DataFrame":
    """Return runs as a data frame of pandas.

    Args:
        source: the folder of a sweep (`results/sweeps/NAME/TIME`), a folder of committed evidence
            (`experiments/NAME`), a folder that contains several of these folders, or `results`,
            for all runs that have ended.
        curves: True: return one row for each logged step of a run, with the metrics that were
            logged at this step, such as `val/nll` and those of your callbacks, instead of one row
            for each run. Committed evidence has only `val/nll`, `val/bleu` and `train/nll`.

    Returns:
        A data frame with one row for each run. A run with a shorter budget (`budget.short`) has a
        second row for this budget. The columns are `experiment`, one column for each factor with
        the option of the run, `arm`, `seed`, `status` (finished, diverged, collapsed or failed),
        one column for each metric of a test such as `test/bleu` (empty if a run lacks it),
        `seconds`, `identity` (of the test), and `run`, the folder of the run, which committed
        evidence lacks. `arm` is the name of the arm in reports, such as "Pre-LN, warm-up". A tuned
        parameter, such as the learning rate, has a column with the chosen value. The method
        `to_csv` of the data frame writes a file.

        For the folder `results`, the factors are the config keys that differ between the runs, and
        a component is given by the name of its class. If a run was tested several times with
        different settings, it has one row for each test, and the column `test` distinguishes these
        rows.

    Raises:
        UserError: the folder has no runs, or a stored result was changed or damaged.
    """
    from pathlib import Path

    from ablate.sweep.load import frame

    return frame(Path(source).expanduser(), curves=curves)


def build_model(
    *overrides: str, vocabulary: int = 1000, config_dir: str | PathLike[str] | None = None
) -> "Model":
    """Return the model that a command with these overrides would train, before its first step.

    Args:
        *overrides: overrides of the config: `build_model("model/position=rotary")`.
        vocabulary: number of tokens; source and target share one vocabulary.
        config_dir: the folder with your own options, as after `--config-dir` of a command.

    Raises:
        UserError: the overrides make no valid config.
    """
    from ablate.train.restore import new_model

    return new_model(overrides, vocabulary, config_dir)


def load_model(run: Any, *, trust: str | Sequence[str] = ()) -> "Model":
    """Return the trained model of a run, in evaluation mode; it takes batches of token ids.

    Args:
        run: the folder of a run, or a row of the data frame of `load`, which names the folder.
        trust: your own packages whose classes the run uses: `trust="mine"`, or a list.

    Raises:
        UserError: there is no such run, or its files are damaged.
    """
    from ablate.train.restore import trained_model

    return trained_model(run, [trust] if isinstance(trust, str) else [*trust])


def compare(runs: Any, *, metric: str, better: str, **design: Any) -> "Comparison":
    """Return a verdict that compares arms (groups of runs with the same settings).

    Any program may have trained the runs.

    Args:
        runs: a data frame of pandas, the path of a table (CSV, TSV, JSONL, Parquet), a folder of
            TensorBoard or Lightning, or "wandb://ENTITY/PROJECT".
        metric: the column with the result of a run.
        better: "lower" or "higher".
        **design: `arm`, the column (or columns) with the arm of a run; `treatment`, by default
            every arm except the baseline; `baseline`, or `target`, a number to be reached;
            `margin`, the smallest difference that matters; `kind`, `pair`, `group`, `where`,
            and all other keys of a study, which docs/howto/referee.md lists.

    Returns:
        The verdict: print it, or call `to_dict()`, `to_frame()`, `plot()` or `write(folder)`.

    Raises:
        UserError: the runs cannot be read, or they cannot answer the question.
        pydantic.ValidationError: a key is unknown or missing, or its value is not allowed.
    """
    from ablate.referee.compare import compare

    return compare(runs, metric=metric, better=better, **design)


def judge(
    runs: Any, study: "str | PathLike[str] | Mapping[str, object] | None" = None
) -> "Comparison":
    """Return the verdicts of a study; with a `study`, any program may have trained the runs.

    Args:
        runs: the folder of a sweep with a study, a folder of committed evidence
            (`experiments/NAME`), or an `Evidence`; with a `study`, as for `compare`.
        study: the path of a YAML file with the question about a table, or a mapping with the
            content of such a file.

    Raises:
        UserError: the runs or the study cannot be read, or the runs cannot answer the question.
        pydantic.ValidationError: a key is unknown or missing, or its value is not allowed.
    """
    from ablate.referee.compare import Comparison, judge
    from ablate.sweep.load import evidence_to_judge

    return Comparison(evidence_to_judge(runs)) if study is None else judge(runs, study)

"""Collect the evidence of a study from the folders in which its runs stored their results."""

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Num

from ablate.errors import UserError
from ablate.evidence.checks import check_arms, check_runs, read_about, read_json
from ablate.evidence.folder import NLL, Evidence, Rows, arrays_in, in_blocks
from ablate.evidence.outcome import Curve, End, Run, required_metrics, threshold
from ablate.phrases import listed
from ablate.record.files import digest
from ablate.record.results import (
    IDENTITY,
    Metrics,
    Outcome,
    Result,
    executed_source,
    read_outcomes,
    read_result,
    say,
    swept,
)

LIBRARIES = ("ablate", "torch", "pytorch-lightning", "numpy", "sacrebleu")
CURVES = ("val/nll", "val/bleu")
TRAINING = "train/nll"  # computed on single batches, in training mode
POINTS = 24  # number of points that are round_results of a training curve
DIGITS = 4  # significant digits of each point
EXACT = 9  # digits that distinguish neighbouring float32 values; enough for trained runs
STATISTICS = ".stats.npz"
RATE = "optimizer.lr"
# keys of this file that are part of `Run.code`, in addition to the hashes of the source
BESIDE_CODE = ("libraries", "data", "device", "initial", "bleu")
Array = Num[np.ndarray, "sentences ..."]
SETTINGS = {"draws": "probe.draws", "rate": RATE}  # fields of a run, and their config keys
SCREENING = "screening"  # subfolder of a sweep with the runs that tuned a nuisance parameter
CONFIG_DIR = "--config-dir"
PLACE = re.compile(r"(?<=[=\[,'\" ])[/~][^,\]'\"]*")
ELSEWHERE = "FOLDER"


def gather(sweep: Path) -> Evidence:
    """Return the evidence of a sweep, read from the folders of its runs.

    The digests that were stored with study.json and with the results of the runs are checked.

    Raises:
        UserError: the folder is not a sweep that has started, a stored result is damaged, the
            sweep's study.json was changed, or the runs were made with different code.
    """
    about = read_about(sweep)
    outcomes = read_outcomes(sweep)
    if not outcomes:
        raise UserError(f"{sweep} is not the folder of a sweep with runs")
    screening = read_outcomes(sweep / SCREENING)
    _check_source(sweep, [*outcomes, *screening])
    study: Any = about["study"] or {"factors": swept(outcomes), "claims": []}
    ends: list[Result] = [*outcomes, *(run["short"] for run in outcomes if "short" in run)]
    statistics = {end["identity"]: rows for end in ends if (rows := _statistics(end))}
    translated = {split for of_run in statistics.values() for split in of_run}
    tested = (statistics_of(end.get("evaluation", ""), None) for end in ends)
    # sorted, so the largest count of a split remains
    sizes = dict(sorted((split, len(x)) for test in tested for split, x in test.items()))
    regime = about["regime"] | {"test_sentences": sizes}
    folders = dict.fromkeys(outcome["folder"] for outcome in outcomes if "folder" in outcome)
    corpora = [read_json(Path(folder, "environment.json")).get("corpus") for folder in folders]
    if any(corpora):  # runs of older versions have none
        regime["corpus"] = listed([*dict.fromkeys(filter(None, corpora))])
    runs = [_run(outcome, study["factors"]) for outcome in outcomes]
    if about["study"]:
        check_runs(str(sweep / "cells"), runs)
    else:
        check_arms(str(sweep / "cells"), runs)
    return Evidence(
        name=about["name"],
        study=study,
        regime=regime,
        registration=about["registration"],
        registered=about["registered"],
        runs=runs,
        screening=[
            tuning_run(_run(run, study["factors"]), study["tune"]["metric"]) for run in screening
        ],
        statistics=statistics,
        groups={
            split: numbers
            for outcome in outcomes
            for split, numbers in statistics_of(outcome.get("evaluation", ""), "groups").items()
            if split in translated
        },
    )


def _check_source(sweep: Path, outcomes: list[Outcome]) -> None:
    """Raise UserError if runs of a sweep were made with different source of the same module."""
    first: dict[str, tuple[str, int]] = {}
    for outcome in outcomes:
        for name, source in executed_source(outcome):
            before, cell = first.setdefault(name, (source, outcome["cell"]))
            if source != before:
                raise UserError(
                    f"{sweep}: cells {cell} and {outcome['cell']} were made with different source "
                    f"of {name}, so they cannot be compared: start the sweep again"
                )


def tuning_run(run: Run, metric: str) -> Run:
    """Return the record of a tuning run with only the values from which its score is computed.

    Verdicts and reports use no other metrics and no curves of tuning runs.

    Args:
        run: a run that was made to choose a nuisance parameter, such as the learning rate.
        metric: the score, that is, the metric by which the parameter is chosen.
    """
    needed = required_metrics(metric)
    metrics = {key: value for key, value in run["metrics"].items() if key in needed}
    curve = run["curve"] if threshold(metric) else {}
    left: Any = {key: value for key, value in run.items() if key != "training"}
    return cast(Run, {**left, "metrics": metrics, "curve": curve})


def _run(outcome: Outcome, factors: list[str]) -> Run:
    levels = {factor: outcome["levels"].get(factor) for factor in factors}
    end = _end(outcome)
    run: Any = {
        "cell": outcome["cell"],
        "identity": end["identity"],
        "levels": levels,
        "arm": say(levels),
        "seed": outcome["seed"],
        **{key: value for key, value in end.items() if key != "identity"},
        "command": command(outcome["overrides"]),
        "versions": {},
        **{key: outcome[key] for key in ("tuned", "matched", "error", "study") if key in outcome},
    }
    if "folder" in outcome:
        run |= _origin(Path(outcome["folder"]), outcome.get("evaluation"))
        if run["status"] == "finished" and "steps" not in run["metrics"]:  # not trained
            run.pop("rate", None)
        run |= {"training": curve} if (curve := training_curve_of(Path(outcome["folder"]))) else {}
    if "short" in outcome:
        run |= {"short": _end(outcome["short"])}
    return cast(Run, run)


def _end(outcome: Result) -> End:
    """Return the outcome of a run in the form of runs.jsonl.

    Args:
        outcome: content of the run's file cells/NUMBER.json, for the outcome after all training
            steps, or the value of its key `short`, for the outcome after fewer steps.
    """
    folder = Path(outcome["folder"]) if "folder" in outcome else None
    if folder:
        _check(folder, outcome["training"])
    metrics, curve = round_results(outcome.get("metrics", {}), curve_of(folder) if folder else {})
    return {
        "identity": outcome.get("identity", ""),
        "status": outcome["status"],
        "metrics": metrics,
        "curve": curve,
        "reused": bool(outcome.get("reused")),
        "ended": outcome.get("ended", 0.0),
        "seconds": outcome.get("wall_seconds", 0.0),
    }


def _check(folder: Path, identity: str) -> None:
    """Raise UserError if the stored result of a run is missing or was changed."""
    if read_result(folder, identity) is None:
        raise UserError(f"{folder} has no result.json: start the sweep again to repeat the run")


def round_results(metrics: Metrics, curve: Curve) -> tuple[Metrics, Curve]:
    """Return the metrics and the validation curve of a run, rounded to `EXACT` significant digits.

    If the curve is empty, the metrics keep all digits, because they come from a probe, that is,
    from a measurement of an untrained model.
    """
    if not curve:
        return metrics, curve
    points = {name: [_rounded(x, EXACT) for x in values] for name, values in curve.items()}
    return {name: _rounded(x, EXACT) for name, x in metrics.items()}, points


def curve_of(folder: Path) -> Curve:
    """Return the validation curves of a run: a list of values for each metric, and the optimiser
    steps under the key `step`.

    A metric that is missing at a validation is left out. The result is {} without a validation.
    """
    points = logged(folder, CURVES[0])
    common = [name for name in CURVES if all(name in line for line in points)]
    return {name: [line[name] for line in points] for name in ("step", *common)} if points else {}


def training_curve_of(folder: Path) -> Curve:
    """Return the training curve of a run, with the keys `step` and `train/nll`; {} if the run has
    no training nll.

    The curve has at most `POINTS` points, evenly spaced, and includes the last logged step.
    """
    every = logged(folder, TRAINING)
    count = min(len(every), POINTS)
    points = [every[len(every) * number // count - 1] for number in range(1, count + 1)]
    values = [_rounded(line[TRAINING], DIGITS) for line in points]
    return {"step": [line["step"] for line in points], TRAINING: values} if points else {}


def _rounded(value: Any, digits: int) -> Any:
    """Round a float to significant digits; return whole numbers and other values unchanged."""
    counts = not isinstance(value, float) or value.is_integer()
    return value if counts else float(f"{value:.{digits}g}")


def logged(folder: Path, metric: str = "step") -> list[Metrics]:
    """Return all metrics that a run logged at each optimiser step at which it logged `metric`, from
    its file metrics.jsonl; [] if the file does not exist.
    """
    path = folder / "metrics.jsonl"
    by_step: dict[Any, Metrics] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        line: Metrics = json.loads(text)
        by_step.setdefault(line["step"], {}).update(line)
    return [line for _, line in sorted(by_step.items()) if metric in line]


def _origin(folder: Path, evaluation: str | None = None) -> dict[str, object]:
    """Return the origin of a run (code, versions, processor), as fields of runs.jsonl. Fields that
    were not recorded are left out.

    Args:
        folder: folder of the training.
        evaluation: folder of the evaluation; None if there is none.

    Returns:
        versions, commit, processor, instructions: versions of the libraries, the commit of the
            source code, the model of the processor, and the instruction set that torch uses.
        code: digest of everything apart from the config that determines the results of a run: the
            source of every module that training and testing execute, the libraries, the data, the
            kind of device and so on. Runs of one arm have the same digest, unless they were made
            with different code, libraries, data or devices.
        draws: number of random models and inputs that a probe measures, that is, a measurement of
            an untrained model.
        rate: the learning rate.
    """
    environment = read_json(folder / "environment.json")
    trained = read_json(folder / IDENTITY)
    tested = read_json(Path(evaluation) / IDENTITY) if evaluation else {}
    modules = {**trained.get("modules", {}), **tested.get("modules", {})}
    rest = {key: trained[key] for key in BESIDE_CODE if key in trained}
    packages = {name: environment["packages"].get(name, "") for name in LIBRARIES}
    config = trained.get("config", {})
    settings = {name: config[key] for name, key in SETTINGS.items() if config.get(key)}
    origin = ("commit", "processor", "instructions")
    given = {key: x for key in origin if (x := environment.get(key))}
    return {
        "versions": {"python": environment["python"], **packages},
        **given,
        "code": digest([sorted(modules.values()), rest]),
        **settings,
    }


def _statistics(outcome: Result) -> dict[str, Rows]:
    if "evaluation" not in outcome:
        return {}
    folder = outcome["evaluation"]
    _check(Path(folder), outcome["identity"])
    texts = statistics_of(folder, "nll").items()
    return statistics_of(folder) | {f"{split}{NLL}": in_blocks(rows) for split, rows in texts}


def statistics_of(folder: Path | str, name: str | None = "bleu") -> dict[str, Array]:
    """Return one of the arrays that the evaluation of a model stored, for each split.

    Splits without this array are left out.

    Args:
        folder: folder of the test; "" for a run that was not tested.
        name: name of the array. The statistics of BLEU are counts of n-grams in each sentence.
            "groups" has the group number of each sentence: a group is, for example, a document, and
            its sentences are not independent of each other. None stands for the first array with a
            row for each sentence.
    """
    paths = sorted(Path(folder).glob(f"*{STATISTICS}")) if folder else []
    by_split = {path.name.removesuffix(STATISTICS): read_rows(path, name) for path in paths}
    return {split: rows for split, rows in by_split.items() if rows is not None}


def read_rows(path: Path, name: str | None = "bleu") -> Array | None:
    """Return an array of the statistics of every sentence; None if the file lacks the array.

    Args:
        path: a file TEST_SET.stats.npz, which an evaluation wrote.
        name: name of the array; None for the first array apart from "groups".

    Raises:
        UserError: the file is damaged.
    """
    with arrays_in(path) as arrays:
        names = [name] if name else [other for other in arrays if other != "groups"]
        return next((arrays[other] for other in names if other in arrays), None)


def command(overrides: Iterable[str], *flags: str, config_dirs: Iterable[str] = ()) -> str:
    """Return the `python -m ablate` command with these overrides, without machine-specific paths.

    Overrides of the keys `paths.*` are left out. Any other absolute path, such as the path of a
    corpus, becomes FOLDER. A folder with the user's config files is written relative to the current
    folder.
    """
    portable = (PLACE.sub(ELSEWHERE, word) for word in overrides if not word.startswith("paths."))
    folders = [word for path in config_dirs for word in (CONFIG_DIR, _relative(Path(path)))]
    return shlex.join(["python", "-m", "ablate", *folders, *portable, *flags])


def _relative(path: Path) -> str:
    """Return a path relative to the current folder, or the word "FOLDER" if the path is not in this
    folder.
    """
    here, path = Path.cwd(), path.absolute()
    return str(path.relative_to(here)) if path.is_relative_to(here) else ELSEWHERE

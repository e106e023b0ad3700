"""Load the results of a study from W&B.

A sweep logs an additional W&B run, the analysis run. Its artifact contains a list of the sweep's
runs with their results, the registration of the study, and the statistics of every test sentence.
Each result is read from the W&B run that trained it, anywhere in the project. If the project has
no W&B run for a result, the result in the artifact is used. That happens if a run failed, was
logged elsewhere, was repeated later, or was not uploaded.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import wandb

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.form import check_runs
from ablate.evidence.gather import CURVES, kept
from ablate.evidence.seal import FILES
from ablate.evidence.types import Run
from ablate.record.files import FILE_NAME, finite
from ablate.verdict.load import load_evidence
from ablate.wandb.connection import check_environment, has_key, reachable
from ablate.wandb.names import ANALYSIS, EVIDENCE, RESULT, STEP

Value = TypeVar("Value")
NOT_FINITE = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True)
class Fetched:
    """The evidence of a study that was loaded from W&B.

    Attributes:
        evidence: results and study.
        n_from_runs: number of results that were read from the W&B runs of the trainings; the other
            results come from the artifact.
        analysis: name and id of the analysis run.
    """

    evidence: Evidence
    n_from_runs: int
    analysis: str


def connect() -> Any:
    """Return W&B's API client, without a prompt.

    Raises:
        UserError: there is no key or no connection, or W&B does not accept an environment variable.
    """
    check_environment()
    url = wandb.setup(settings=wandb.Settings(silent=True)).settings.base_url
    if not has_key():
        raise UserError("W&B needs an API key: store one with `wandb login`")
    if not reachable(url):
        raise UserError(f"W&B cannot be reached at {url}: check the network and WANDB_BASE_URL")
    with asking("its key"):
        return wandb.Api()


def fetch(api: Any, project: str, group: str) -> Fetched:
    """Load the newest analysis run of a W&B group, and the results of the runs that it lists.

    Args:
        api: `wandb.Api()`.
        project: ENTITY/PROJECT.
        group: name of the experiment.

    Raises:
        UserError: W&B does not have the project, the group, its analysis run or its artifact.
    """
    with asking(f"project={project}"):
        runs = {run.id: run for run in api.runs(project, filters={"group": group}, lazy=False)}
    if not runs:
        raise UserError(f"group={group}: project={project} has no run in this group")
    analyses = [r for r in runs.values() if r.job_type == ANALYSIS and "logged" in r.config]
    if not analyses:
        raise UserError(
            f"group={group}: none of its {len(runs)} runs is the analysis of a study; a sweep with "
            "a study logs one at its end"
        )
    analysis = max(analyses, key=lambda run: float(run.config["logged"]))
    evidence = _download(analysis)
    results = []
    for line in evidence.runs:
        identity = analysis.config["runs"].get(str(line["cell"]))
        run = runs.get(identity) or _elsewhere(api, project, identity)
        results.append(_result(line, run))
    merged = [result or line for result, line in zip(results, evidence.runs, strict=True)]
    check_runs(f"project={project}", merged, evidence.study["factors"])
    n_from_runs = sum(result is not None for result in results)
    return Fetched(replace(evidence, runs=merged), n_from_runs, f"{analysis.name} ({analysis.id})")


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Convert every error of W&B's client, which raises errors of many types, to a UserError.

    Args:
        what: for the message, the name of the object that is requested from W&B.
    """
    try:
        yield
    except Exception as error:
        raise UserError(f"W&B cannot give {what}: {error}") from None


def _download(analysis: Any) -> Evidence:
    with asking(f"the artifacts of {analysis.name} ({analysis.id})"):
        artifacts = [a for a in analysis.logged_artifacts() if a.type == EVIDENCE]
    if not artifacts:
        raise UserError(
            f"{analysis.name} ({analysis.id}) has no artifact of type {EVIDENCE}: upload the "
            "sweep again"
        )
    latest = max(artifacts, key=lambda artifact: artifact.created_at)
    with TemporaryDirectory() as folder:
        for name in FILES:
            _save(latest, name, folder)
        return load_evidence(Path(folder))


def _save(artifact: Any, name: str, folder: str) -> None:
    """Download one file of an artifact, if the artifact has it.

    Raises:
        UserError: the artifact has a reference under this name, which could point to a file on this
            machine.
    """
    with asking(f"{name} of the artifact {artifact.name}"):
        entry = artifact.get_entry(name) if name in artifact.manifest.entries else None
    if entry is None:
        return
    if entry.ref is not None:
        raise UserError(
            f"{name} of the artifact {artifact.name} is a link to {entry.ref!r}, and only "
            "uploaded files are read"
        )
    with asking(f"{name} of the artifact {artifact.name}"):
        entry.download(root=folder)


def _elsewhere(api: Any, project: str, identity: str | None) -> Any:
    """Return the W&B run with this id, which may belong to any group of the project; None if there
    is none.
    """
    if not FILE_NAME.fullmatch(identity or ""):  # a slash would lead to another project
        return None
    try:
        return api.run(f"{project}/{identity}")
    except (ValueError, wandb.Error):
        return None


def _result(line: Run, run: Any) -> Run | None:
    """Return a run of the sweep with the result that its W&B run stores.

    The result is None if there is no W&B run, or if the W&B run ended at another time, so that it
    stores the result of another execution.

    Args:
        line: the run with its result, as runs.jsonl in the W&B artifact of the sweep has it.
        run: the W&B run; None if there is none.
    """
    if run is None or run.summary_metrics.get("ended") != line["ended"]:
        return None
    summary = run.summary_metrics
    with asking(f"the result of {run.name} ({run.id})"):
        curves = [name for name in CURVES if name in line["curve"]]
        rows = {int(row[STEP]): row for row in run.scan_history(keys=[STEP, *curves])}
        curve = {name: [_number(rows[step][name]) for step in sorted(rows)] for name in curves}
        metrics = {
            key.removeprefix(RESULT): _number(value)
            for key, value in summary.items()
            if key.startswith(RESULT)
        }
        points = {"step": sorted(rows), **curve} if rows and curves else {}
        metrics, points = kept(_in_order(metrics, line["metrics"]), points)
        result = {
            "status": summary["status"],
            "metrics": metrics,
            "curve": points,
            "ended": summary["ended"],
            "seconds": summary["wall_seconds"],
            "versions": _in_order(run.config["versions"], line["versions"]),
        }
    return cast(Run, {**line, **result})


def _number(value: Any) -> Any:
    """Return a number of W&B; None in place of the texts by which W&B stores NaN and infinities."""
    return None if value in NOT_FINITE else finite(value)


def _in_order(values: dict[str, Value], names: Iterable[str]) -> dict[str, Value]:
    """Return the values in the order of `names`. W&B does not keep this order, and reports need
    it.
    """
    return {key: values[key] for key in dict.fromkeys([*names, *values]) if key in values}

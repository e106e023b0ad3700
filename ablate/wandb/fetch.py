"""Load the evidence of a study from W&B.

A sweep logs an additional W&B run, the analysis run. Its artifact contains the sealed evidence: the
sweep's runs with their results, the registration of the study, and the statistics of every test
sentence.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import wandb

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.seal import FILES
from ablate.verdict.study_checks import load_evidence
from ablate.wandb.connection import check_environment, has_key, reachable
from ablate.wandb.note import ANALYSIS, EVIDENCE


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


def fetch(api: Any, project: str, group: str) -> Evidence:
    """Load the evidence of the newest analysis run of a W&B group.

    Args:
        api: `wandb.Api()`.
        project: ENTITY/PROJECT.
        group: name of the experiment.

    Raises:
        UserError: W&B does not have the project, the group, its analysis run or its artifact, or
            the evidence is damaged.
    """
    with asking(f"project={project}"):
        runs = [*api.runs(project, filters={"group": group}, lazy=False)]
    if not runs:
        raise UserError(f"group={group}: project={project} has no run in this group")
    analyses = [r for r in runs if r.job_type == ANALYSIS and "logged" in r.config]
    if not analyses:
        raise UserError(
            f"group={group}: none of its {len(runs)} runs is the analysis of a study; a sweep with "
            "a study logs one at its end"
        )
    latest = max(analyses, key=lambda run: float(run.config["logged"]))
    name = f"{latest.name} ({latest.id})"
    print(f"analysis run: {name}", file=sys.stderr)
    with asking(f"the artifacts of {name}"):
        artifacts = [a for a in latest.logged_artifacts() if a.type == EVIDENCE]
    if not artifacts:
        raise UserError(f"{name} has no artifact of type {EVIDENCE}: upload the sweep again")
    artifact = max(artifacts, key=lambda artifact: artifact.created_at)
    with TemporaryDirectory() as folder:
        for file in FILES:
            _save(artifact, file, folder)
        return load_evidence(Path(folder))


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

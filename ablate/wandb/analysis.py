"""Log the verdict of a sweep to W&B, as an additional W&B run in the same group as the sweep's
runs.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wandb
from matplotlib import rc_context
from omegaconf import DictConfig

from ablate.evidence.checks import FILES
from ablate.evidence.folder import Evidence
from ablate.phrases import claim_name
from ablate.record.files import finite
from ablate.report.content import comparison_tables
from ablate.report.draw import style
from ablate.report.write import figures
from ablate.verdict.types import Verdict
from ablate.wandb.connection import ANALYSIS, EVIDENCE, LOGGER, init_args, start
from ablate.words.answer import graded

DOTS = 120  # resolution of a figure in dots per inch


def log_analysis(config: DictConfig, evidence: Evidence, verdict: Verdict, folder: Path) -> None:
    """Log a verdict if the config has logger=wandb; if W&B raises an error, print one line.

    A repeated call replaces the earlier W&B run. `folder` is the folder of the sweep, which already
    contains the results and the report, or the folder for the report on a table.
    """
    if config.logger is None or config.logger.get("_target_") != LOGGER:
        return
    try:
        _send(config.logger, evidence, finite(verdict), folder)
    except Exception as error:  # any error of W&B; the verdict is already on disk
        print(f"W&B has no analysis of these runs: {type(error).__name__}: {error}")


def _send(logger: DictConfig, evidence: Evidence, verdict: Verdict, folder: Path) -> None:
    run = start(
        logger.mode,
        folder,
        analysis_identity(evidence, folder),
        goes_on=False,
        **init_args(logger, evidence.name, ANALYSIS, [claim["id"] for claim in verdict["claims"]]),
        name=f"{logger.name or evidence.name}: analysis",
        config={
            "study": evidence.study,
            "regime": evidence.regime,
            "registration": evidence.registration,
        },
    )
    failed = True
    try:
        run.log(dict(pages(evidence, verdict)))
        run.summary.update(summary(verdict))
        if not evidence.is_table:  # whose folder may be that of other files
            run.log_artifact(bundle(evidence.name, folder))
        failed = False
    finally:
        run.finish(exit_code=int(failed))


def analysis_identity(evidence: Evidence, folder: Path) -> str:
    """Return the id of the W&B run with the verdict of a sweep.

    The id depends only on the experiment, the sweep's folder and the study, so that a repeated
    upload creates no duplicate.
    """
    study = evidence.registration.get("hash") or evidence.study  # a table is not registered
    named = json.dumps([evidence.name, folder.name, study], default=str)
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def pages(evidence: Evidence, verdict: Verdict) -> Iterator[tuple[str, Any]]:
    """Yield the tables and the figures of a sweep's report, each with its key in W&B."""
    for name, table in comparison_tables(evidence, verdict).items():
        yield f"tables/{name}", wandb.Table(columns=[*table], data=table.to_numpy().tolist())
    with style(), rc_context({"savefig.transparent": False, "savefig.dpi": DOTS}):
        for figure in figures(evidence, verdict):
            yield f"figures/{figure.name}", wandb.Image(figure.picture)


def summary(verdict: Verdict) -> dict[str, object]:
    """Return the values for W&B's summary: the verdict, effect, margin and interval of every claim,
    and the numbers of runs.
    """
    counted = ("runs", "failed_runs", "reused_runs", "exploratory")
    values = {key: value for key, value in verdict.items() if key in counted}
    for claim in verdict["claims"]:
        name, (low, high) = claim_name(claim), claim["interval"] or (None, None)
        values |= {
            f"verdict/{name}": graded(claim["verdict"], claim["grade"]),
            f"effect/{name}": claim["effect"],
            f"margin/{name}": claim["margin"],
            f"low/{name}": low,
            f"high/{name}": high,
        }
    return values


def bundle(name: str, folder: Path) -> wandb.Artifact:
    """Return an artifact with all files from which a verdict is computed."""
    artifact = wandb.Artifact(f"{re.sub(r'[^a-zA-Z0-9_.-]', '_', name)}-evidence", type=EVIDENCE)
    for file in (*FILES, "verdict.json"):
        if (folder / file).exists():
            artifact.add_file(str(folder / file), policy="immutable")  # no copy in the home folder
    return artifact

"""Read the runs of a W&B project by W&B's public API.

The table has a row per run, or per step if the column `_step` is wanted. Columns: `run` (the id of
the run), `name`, `group`, `job_type`, `state`, `_started`; the keys of the
config; the keys of the summary or, per step, of the history. A key of the config that has the name
of another column gets the prefix `config.`.
"""

from collections.abc import Collection
from typing import Any

from ablate.errors import UserError, first_line
from ablate.evidence.foreign import logs

STEP = "_step"


def read_project(place: str, wanted: Collection[str]) -> logs.Source:
    """Return the runs of a W&B project.

    Args:
        place: ENTITY/PROJECT, or ENTITY/PROJECT/GROUP.
        wanted: columns that are needed. If `_step` is one of them, the table has a row per step.

    Raises:
        UserError: W&B does not have the project, needs a login, or the project has no runs.
    """
    import wandb

    entity, project, group = [*place.strip("/").split("/", 2), "", ""][:3]
    filters = {"group": group} if group else {}
    try:
        runs = wandb.Api().runs(f"{entity}/{project}", filters=filters)
        recorded = [_log(run, by_step=STEP in wanted) for run in runs]
    except Exception as error:  # W&B's client has many kinds of errors
        raise UserError(f"wandb://{place} cannot be read: {first_line(error)}") from None
    needed = "runs with results: check the project and the group"
    return logs.from_logs(f"wandb://{place}", recorded, needed, prefix="config")


def _log(run: Any, *, by_step: bool) -> logs.RunLog:
    about = {"run": run.id, "name": run.name, "group": run.group, "job_type": run.job_type}
    about |= {"state": run.state, "_started": run.created_at}
    results = run.scan_history() if by_step else [dict(run.summary_metrics)]
    settings = {key: value for key, value in run.config.items() if not key.startswith("_wandb")}
    return logs.RunLog(about, settings, [logs.flat(row) for row in results])

"""Read the runs of a W&B project by the public API.

The table has a row per run, or per step if the column `_step` is wanted.

Columns: `run` (the id of the run), `name`, `group`, `job_type`, `state`, `_started` in seconds
since 1970; the keys of the config; the keys of the summary or, per step, of the history. A key of
the config that has the name of another column gets the prefix `config.`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import RunLog, flat, from_runs
from ablate.evidence.foreign.table import Table

STEP = "_step"


def read_project(
    api: Any, place: str, wanted: Iterable[str] = (), names: Iterable[str] = ()
) -> Table:
    """Return the runs of a W&B project, or of a group in the project.

    Args:
        api: `wandb.Api()`.
        place: ENTITY/PROJECT, or ENTITY/PROJECT/GROUP.
        wanted: columns that are needed. If `_step` is one of them, the table has a row per step.
        names: columns of names, whose cells are texts as they are written.

    Raises:
        UserError: the path is malformed, W&B does not have the project, or the project has no runs.
    """
    entity, project, group = place_of(place)
    wanted = [*wanted]
    filters = {"group": group} if group else {}
    try:
        runs = [*api.runs(f"{entity}/{project}", filters=filters)]
        logs = [_log(run, by_step=STEP in wanted) for run in runs]
    except Exception as error:  # W&B's client has many kinds of errors
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"wandb://{place} cannot be read; W&B answered: {reason}") from None
    needed = "runs with results: check the project and the group"
    return from_runs(f"wandb://{place}", logs, wanted, names, needed)


def place_of(place: str) -> tuple[str, str, str]:
    """Return entity, project and group of a path ENTITY/PROJECT or ENTITY/PROJECT/GROUP.

    The group is "" if the path has none.

    Raises:
        UserError: the path is malformed.
    """
    parts = place.strip("/").split("/", 2)
    if len(parts) < 2 or not all(parts):
        raise UserError(f"wandb://{place}: it must be wandb://ENTITY/PROJECT or .../PROJECT/GROUP")
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""


def _log(run: Any, *, by_step: bool) -> RunLog:
    about = {"run": run.id, "name": run.name, "group": run.group, "job_type": run.job_type}
    about |= {"state": run.state, "_started": _seconds(run.created_at)}
    results = run.scan_history() if by_step else [dict(run.summary_metrics)]
    settings = {key: value for key, value in run.config.items() if not key.startswith("_wandb")}
    return RunLog(about, settings, [flat(row) for row in results])


def _seconds(moment: str | None) -> float | None:
    if not moment:
        return None
    time = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

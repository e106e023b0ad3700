"""Upload finished runs to W&B from their folders, with the ids that logging during training would
use.
"""

import subprocess
import sys
from pathlib import Path

from ablate.errors import UserError
from ablate.record.composition import recomposed
from ablate.wandb.connection import check_environment, check_names, settle
from ablate.wandb.describe import conclude, define_metrics, log_again
from ablate.wandb.names import LONGEST_TITLE
from ablate.wandb.note import Place
from ablate.wandb.sources import FinishedRun
from ablate.wandb.start import start


def state(run: FinishedRun) -> str:
    """Return whether W&B has a run: "sent", "waiting" (stored on this disk until it is uploaded),
    or "missing".

    A run in another project or group counts as missing.
    """
    return _place(run).state(run.names.project, run.names.group or run.logged.config.name)


def _place(run: FinishedRun) -> Place:
    result = Path(run.result.get("evaluation", run.logged.folder))
    return Place(result, run.logged.folder)


def settled_mode(wanted: str) -> str:
    """Return the mode, online or offline: `wanted`, unless WANDB_MODE, a missing key or a missing
    connection changes the mode.

    Raises:
        UserError: no run can be uploaded in this mode.
    """
    check_environment()
    mode = settle(wanted)
    if mode not in ("online", "offline"):
        raise UserError(f"WANDB_MODE={mode}: runs are uploaded online or offline; unset WANDB_MODE")
    return mode


def check(run: FinishedRun) -> None:
    """Raise UserError for names that W&B would not accept."""
    group = run.names.group or run.logged.config.name[:LONGEST_TITLE]
    check_names(run.names.project, group, run.names.tags)


def send(run: FinishedRun, mode: str) -> str:
    """Log a finished run to W&B as its training would have done; return its new state.

    Args:
        run: a run that W&B lacks.
        mode: online | offline; offline, the run is stored on this disk, ready to be uploaded.
    """
    if state(run) == "waiting" and mode == "offline":
        return "waiting"
    if state(run) == "waiting":
        for folder in _place(run).offline:  # it has pictures and samples, which records lack
            subprocess.run([sys.executable, "-m", "wandb", "sync", str(folder)], check=True)
        return "sent"
    with recomposed(run.composition):
        arguments = run.logged.arguments(run.names)
        folder, identity = run.logged.folder, run.logged.identity
        logged = start(mode, folder, identity, goes_on=False, **arguments)
        define_metrics(logged)
        log_again(logged, run.logged.folder / "metrics.jsonl")
        conclude(logged, run.logged, run.result, quiet=True)
    return "waiting" if logged.offline else "sent"

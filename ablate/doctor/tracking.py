"""Check Weights & Biases: whether runs would be uploaded, and whether its environment variables are
valid.
"""

import os
from pathlib import Path

from ablate.doctor.diagnosis import Diagnosis
from ablate.errors import UserError
from ablate.wandb.connection import ANOTHER_RUN, check_environment, settle
from ablate.wandb.note import OFFLINE, is_synced

ONLINE = "online: runs are sent while they train"
MODES = {
    "online": ONLINE,
    "offline": "offline: runs stay on this disk until ablate upload",
    "disabled": "disabled by WANDB_MODE: nothing is sent to W&B, or kept for a later upload",
}


def look_at_wandb(results: Path) -> Diagnosis:
    """Diagnose W&B: its mode (online, offline, disabled), runs that wait for an upload, and
    environment variables that are invalid or ignored.
    """
    ignored = [name for name in ANOTHER_RUN if name in os.environ]
    try:
        check_environment()
        mode = settle("auto")
    except UserError as error:
        problem, _, advice = str(error).partition("; ")
        return Diagnosis("W&B", "unusable", problem, advice or "correct the variable, or unset it")
    waiting = [path for path in results.glob(f"runs/*/{OFFLINE}") if not is_synced(path)]
    seen = MODES.get(mode, f"{mode} (WANDB_MODE)")
    if waiting:
        seen += f"; {len(waiting)} runs wait for ablate upload {results}"
    if ignored:
        problem = f"{', '.join(ignored)} belong to another run, and are ignored"
        return Diagnosis("W&B", seen, problem, "unset them to be sure")
    return Diagnosis("W&B", seen)

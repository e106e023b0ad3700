"""Read where W&B has a run from the file beside its result, without importing W&B."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.record.links import read_links

NOTE = "wandb.json"
OFFLINE = "wandb/offline-run-*"  # W&B's folder of a run until it is uploaded
SYNCED = "*.wandb.synced"  # file with which W&B marks an uploaded run


@dataclass(frozen=True)
class Place:
    """The location of a run's result; `folder` is the folder of its training."""

    result: Path
    folder: Path
    identity: str

    @property
    def offline(self) -> list[Path]:
        """The folders in which W&B keeps the run until it is uploaded."""
        return sorted(self.folder.glob(f"{OFFLINE}-{self.identity}"))

    def state(self, project: str, group: str) -> str:
        """Return whether W&B has the run: "sent", "waiting" on this disk, or "missing"."""
        note = read_note(self.result)
        wanted = {"project": project, "group": group}
        if not note or any(note.get(key, value) != value for key, value in wanted.items()):
            return "missing"
        if note.get("url") or any(map(is_synced, self.offline)):
            return "sent"
        return "waiting" if self.offline else "missing"


def is_synced(offline: Path) -> bool:
    """Return whether W&B has uploaded a run from its offline folder."""
    return any(offline.glob(SYNCED))


def read_note(folder: Path) -> dict[str, object]:
    """Return the location of a run in W&B; empty if no run was logged completely."""
    with suppress(OSError, ValueError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return note if isinstance(note, dict) else {}
    return {}


def advise_upload(sweep: Path, project: str, group: str) -> str:
    """Return how to upload the runs of a sweep that W&B lacks; "" if it has all of them.

    Reused runs, and runs whose logger failed, were not logged.
    """
    places = [
        Place(Path(link.get("evaluation", link["folder"])), Path(link["folder"]), link["identity"])
        for link in read_links(sweep)
        if "folder" in link and "identity" in link
    ]
    states = Counter(place.state(project, group) for place in places)
    reasons = {
        "waiting": "on this disk alone, as W&B was offline",
        "missing": "not logged, as they were reused or their logger failed",
    }
    counts = [f"{states[state]} {reason}" for state, reason in reasons.items() if states[state]]
    if not counts:
        return ""
    return (
        f"W&B lacks runs of this sweep ({'; '.join(counts)}). To upload them: ablate upload {sweep}"
    )

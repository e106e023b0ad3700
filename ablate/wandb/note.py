"""The note beside a result about where W&B has the run, read without W&B."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.record.links import read_links

NOTE = "wandb.json"
OFFLINE = "wandb/offline-run-*"  # what W&B keeps of a run until it is uploaded
SYNCED = "*.wandb.synced"  # the file by which W&B marks that it has uploaded one


@dataclass(frozen=True)
class Place:
    """Where the result of a run lies: `identity` is that of the result, `folder` the training's."""

    result: Path
    folder: Path
    identity: str

    @property
    def offline(self) -> list[Path]:
        """The folders in which W&B keeps the run until it is uploaded."""
        return sorted(self.folder.glob(f"{OFFLINE}-{self.identity}"))

    def state(self, project: str, group: str) -> str:
        """Return whether W&B has the run there: "sent", "waiting" on this disk, or "missing"."""
        note = read_note(self.result)
        wanted = {"project": project, "group": group}
        if not note or any(note.get(key, value) != value for key, value in wanted.items()):
            return "missing"
        if note.get("url") or any(map(is_synced, self.offline)):
            return "sent"
        return "waiting" if self.offline else "missing"


def is_synced(offline: Path) -> bool:
    """Whether W&B has uploaded a run from its offline folder."""
    return any(offline.glob(SYNCED))


def read_note(folder: Path) -> dict[str, object]:
    """Return where W&B has a run; empty where no run was logged to its end."""
    with suppress(OSError, ValueError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return note if isinstance(note, dict) else {}
    return {}


def advise_upload(sweep: Path, project: str, group: str) -> str:
    """Return how to upload the runs of a sweep that W&B lacks; empty where it lacks none.

    Runs that were reused, or whose logger failed, were never logged there.
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
    said = [f"{states[one]} {reason}" for one, reason in reasons.items() if states[one]]
    if not said:
        return ""
    return (
        f"W&B lacks runs of this sweep ({'; '.join(said)}). To upload them: ablate upload {sweep}"
    )

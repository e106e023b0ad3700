"""Read where a run is in W&B from the file wandb.json beside its result, without importing W&B."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.record.label import cut
from ablate.record.links import read_links
from ablate.wandb.names import LONGEST_TITLE

NOTE = "wandb.json"
OFFLINE = "wandb/offline-run-*"  # W&B's folder of a run until it is uploaded
SYNCED = "*.wandb.synced"  # file with which W&B marks an uploaded run


@dataclass(frozen=True)
class Place:
    """The folders of a run: `result` has its result and wandb.json, and `folder` is the run's main
    folder.
    """

    result: Path
    folder: Path

    @property
    def offline(self) -> list[Path]:
        """The folders in which W&B's client stores the run until it is uploaded.

        The id is read from wandb.json. A diverged run is never tested, but W&B has it under the
        identity of its test, which the run's result does not contain.
        """
        return sorted(self.folder.glob(f"{OFFLINE}-{read_note(self.result).get('id')}"))

    def state(self, project: str, group: str) -> str:
        """Return whether W&B has the run in this project and group.

        The state is "sent", "waiting" (stored on this disk until it is uploaded), or "missing".
        """
        note = read_note(self.result)
        wanted = {"project": project, "group": cut(group, LONGEST_TITLE)}
        if not note or any(note.get(key, value) != value for key, value in wanted.items()):
            return "missing"
        if note.get("url") or any(map(is_synced, self.offline)):
            return "sent"
        return "waiting" if self.offline else "missing"


def is_synced(offline: Path) -> bool:
    """Return whether the run in a folder of W&B's client (wandb/offline-run-...) has been
    uploaded.
    """
    return any(offline.glob(SYNCED))


def read_note(folder: Path) -> dict[str, object]:
    """Return the location of a run in W&B; {} if no run was logged to its end."""
    with suppress(OSError, ValueError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return note if isinstance(note, dict) else {}
    return {}


def advise_upload(sweep: Path, project: str, group: str) -> str:
    """Return how to upload the runs of a sweep that W&B lacks; "" if W&B has all of them.

    Runs whose stored results were used again, and runs whose logger failed, were not logged.
    """
    places = [
        Place(Path(link.get("evaluation", link["folder"])), Path(link["folder"]))
        for link in read_links(sweep)
        if "folder" in link
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

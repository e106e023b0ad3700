"""Define names in W&B, and read where a run is in W&B from the file wandb.json beside its result.

Nothing here imports W&B.
"""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.record.label import cut
from ablate.record.links import read_links

STEP = "trainer/global_step"  # name of the step in Lightning's logger
ANALYSIS = "analysis"  # job type of the analysis run of a sweep
EVIDENCE = "evidence"  # type of the artifact of the analysis run
LONGEST_NAME = 64  # maximum length of a tag or a job type
LONGEST_TITLE = 128  # maximum length of a run's title
LOGGER = "ablate.wandb.logger.WandbRun"  # target of logger=wandb in a config
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

    @classmethod
    def of(cls, result: Any, folder: Path) -> "Place":
        """Return the folders of a run from its result, or from the link of a sweep to the run."""
        return cls(Path(result.get("evaluation", folder)), folder)

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
    links = [link for link in read_links(sweep) if "folder" in link]
    states = Counter(Place.of(link, Path(link["folder"])).state(project, group) for link in links)
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

"""Define names in W&B, and find the runs of a sweep that wait for an upload.

Nothing here imports W&B.
"""

from pathlib import Path

from ablate.record.links import read_links

STEP = "trainer/global_step"  # name of the step in Lightning's logger
ANALYSIS = "analysis"  # job type of the analysis run of a sweep
EVIDENCE = "evidence"  # type of the artifact of the analysis run
LONGEST_NAME = 64  # maximum length of a tag or a job type
LONGEST_TITLE = 128  # maximum length of a run's title
LOGGER = "ablate.wandb.logger.WandbRun"  # target of logger=wandb in a config
OFFLINE = "wandb/offline-run-*"  # W&B's folder of a run until it is uploaded
SYNCED = "*.wandb.synced"  # file with which W&B marks an uploaded run


def advise_sync(sweep: Path) -> str:
    """Return how to upload the runs of a sweep that are stored on this disk alone; "" if there are
    none.
    """
    folders = {Path(link["folder"]) for link in read_links(sweep) if "folder" in link}
    offline = [path for folder in folders for path in folder.glob(OFFLINE)]
    if all(any(path.glob(SYNCED)) for path in offline):
        return ""
    runs = next(iter(folders)).parent
    return f"W&B lacks runs of this sweep. To upload them: wandb sync {runs}/*/{OFFLINE}"

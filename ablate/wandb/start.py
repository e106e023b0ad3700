"""Starting a W&B run: of one cell of a sweep, or of a sweep's analysis."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import wandb
from wandb.sdk.wandb_run import Run

from ablate.errors import UserError
from ablate.wandb.connection import Mode, forget_other_runs, settle
from ablate.wandb.names import LONGEST_NAME

NOTE = "wandb.json"  # where a run is found in W&B; beside the result that it shows
INIT_SECONDS = 30.0
FINISH_SECONDS = 120.0  # for what is not uploaded yet; it stays on disk and can be synced


def start(wanted: str, folder: Path, identity: str, *, goes_on: bool, **about: Any) -> Run:
    """Start the W&B run with this id, and keep its files in a folder.

    Offline there is one file per id: what an earlier process has left is removed, because the
    server would put two of them together in an order that nobody sees.

    Args:
        wanted: auto | online | offline; auto is offline where W&B is not reached.
        folder: gets a subfolder `wandb`.
        identity: id of the run; online, an earlier run with this id is replaced.
        goes_on: whether it is continued instead.
        about: project, entity, group and whatever else `wandb.init` takes.

    Raises:
        UserError: online is wanted, and W&B is not reached.
    """
    forget_other_runs()
    mode = settle(wanted)
    for earlier in (folder / "wandb").glob(f"offline-run-*-{identity}"):
        shutil.rmtree(earlier)
    about |= {"id": identity, "dir": str(folder)}
    try:
        return _init(mode, about, goes_on=goes_on)
    except wandb.Error as error:
        if wanted == "online":
            raise UserError(f"logger.mode=online: {error}") from None
        print(f"W&B is not reached: {error}")
        wandb.teardown()  # it still holds the id
        return _init("offline", about, goes_on=False)


def as_tags(given: Iterable[object] | str | None) -> list[str]:
    """Tags as W&B takes them: none twice, none too long; a text has commas between them."""
    listed = given.split(",") if isinstance(given, str) else given or []
    stripped = (str(tag).strip()[:LONGEST_NAME] for tag in listed)
    return [tag for tag in dict.fromkeys(stripped) if tag]


def _init(mode: Mode, about: dict[str, Any], *, goes_on: bool) -> Run:
    # W&B's own lines are of use only when something is sent; offline, `finish` says enough.
    wandb.setup(settings=wandb.Settings(mode=mode, silent=mode != "online"))
    return wandb.init(
        **about,
        resume="allow" if goes_on and mode == "online" else None,
        settings=wandb.Settings(
            mode=mode,
            reinit="create_new",  # never somebody else's run of this process
            x_save_requirements=False,  # in environment.json; collecting them takes 0.1 s
            init_timeout=INIT_SECONDS,
            finish_timeout=FINISH_SECONDS,
        ),
    )


def finish(run: Run, *, failed: bool) -> None:
    """Finish a W&B run, and say how to upload it later if it is offline."""
    folder = Path(run.dir).parent
    run.finish(exit_code=int(failed))
    if run.offline:
        print(f"W&B is offline; to upload this run: wandb sync {folder}")

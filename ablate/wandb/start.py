"""Starting a W&B run: of one cell of a sweep, or of a sweep's analysis."""

import shutil
from pathlib import Path
from typing import Any

import wandb
from wandb.sdk.wandb_run import Run

from ablate.wandb.connection import Mode, clean_environment, settle

INIT_SECONDS = 30.0
FINISH_SECONDS = 120.0  # for what is not uploaded yet; it stays on disk and can be synced


def start(wanted: str, folder: Path, identity: str, *, goes_on: bool, **about: Any) -> Run:
    """Start the W&B run with this id, and keep its files in a folder.

    Offline there is one file per id: what an earlier process has left is removed, because the
    server would put two of them together in an order that nobody sees.

    Args:
        wanted: auto | online | offline. Where W&B is not reached, the run is offline; auto notices
            within seconds, and online tries for longer.
        folder: gets a subfolder `wandb`.
        identity: id of the run; online, an earlier run with this id is replaced.
        goes_on: whether it is continued instead.
        about: project, entity, group and whatever else `wandb.init` takes.

    Raises:
        UserError: online is wanted, and there is no key.
    """
    clean_environment()
    mode = settle(wanted)
    for earlier in (folder / "wandb").glob(f"offline-run-*-{identity}"):
        shutil.rmtree(earlier)
    about |= {"id": identity, "dir": str(folder)}
    try:
        return _init(mode, about, goes_on=goes_on)
    except wandb.Error as error:
        print(f"warning: W&B is not reached, and this run is logged offline: {error}", flush=True)
        wandb.teardown()  # it still holds the id
        return _init("offline", about, goes_on=False)


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


def finish(run: Run, *, failed: bool, quiet: bool = False) -> None:
    """Finish a W&B run; unless `quiet`, say how to upload it later if it is offline."""
    folder = Path(run.dir).parent
    run.finish(exit_code=int(failed))
    if run.offline and not quiet:
        print(f"W&B is offline; to upload this run: wandb sync {folder}")

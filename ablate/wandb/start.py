"""Start a W&B run, for a training run or for the verdict of a sweep."""

import shutil
from pathlib import Path
from typing import Any

import wandb
from wandb.sdk.wandb_run import Run

from ablate.wandb.connection import Mode, clean_environment, settle

INIT_SECONDS = 30.0
FINISH_SECONDS = 120.0  # time limit for uploading; the rest stays on disk and can be synced


def start(wanted: str, folder: Path, identity: str, *, goes_on: bool, **about: Any) -> Run:
    """Start the W&B run with this id, and keep its files in a folder.

    Offline there is only one set of files per id. Files of earlier processes are removed, because
    the server would merge them in an unknown order.

    Args:
        wanted: auto | online | offline. If W&B cannot be reached, the run is offline; auto gives up
            within seconds, online tries for longer.
        folder: gets a subfolder `wandb`.
        identity: id of the run; online, an earlier run with this id is replaced.
        goes_on: whether the earlier run is continued instead.
        about: project, entity, group and further arguments of `wandb.init`.

    Raises:
        UserError: `wanted` is online, and there is no key.
    """
    clean_environment()
    mode = settle(wanted)
    for earlier in (folder / "wandb").glob(f"offline-run-*-{identity}"):
        shutil.rmtree(earlier)
    about |= {"id": identity, "dir": str(folder)}
    try:
        return _init(mode, about, goes_on=goes_on)
    except wandb.Error as error:
        print(f"warning: W&B cannot be reached, so this run is logged offline: {error}", flush=True)
        wandb.teardown()  # the failed start still uses the id
        return _init("offline", about, goes_on=False)


def _init(mode: Mode, about: dict[str, Any], *, goes_on: bool) -> Run:
    # W&B's messages are useful only if data is sent; offline, `finish` prints a message.
    wandb.setup(settings=wandb.Settings(mode=mode, silent=mode != "online"))
    return wandb.init(
        **about,
        resume="allow" if goes_on and mode == "online" else None,
        settings=wandb.Settings(
            mode=mode,
            reinit="create_new",  # never reuse another run of this process
            x_save_requirements=False,  # environment.json has them; collecting them takes 0.1 s
            init_timeout=INIT_SECONDS,
            finish_timeout=FINISH_SECONDS,
        ),
    )


def finish(run: Run, *, failed: bool, quiet: bool = False) -> None:
    """Finish a W&B run; unless `quiet`, print how to upload an offline run."""
    folder = Path(run.dir).parent
    run.finish(exit_code=int(failed))
    if run.offline and not quiet:
        print(f"W&B is offline; to upload this run: wandb sync {folder}")

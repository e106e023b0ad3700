"""Determine whether W&B can be reached, without a prompt, start a W&B run for a training run or for
the verdict of a sweep, and find the runs that wait for an upload.

This module imports W&B only inside functions.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.record.results import cut, read_outcomes

STEP = "trainer/global_step"  # name of the step in Lightning's logger
ANALYSIS = "analysis"  # job type of the analysis run of a sweep
EVIDENCE = "evidence"  # type of the artifact of the analysis run
LONGEST_NAME = 64  # maximum length of a tag or a job type
LONGEST_TITLE = 128  # maximum length of a run's title
LOGGER = "ablate.wandb.logger.WandbRun"  # target of logger=wandb in a config
OFFLINE = "wandb/offline-run-*"  # W&B's folder of a run until it is uploaded
SYNCED = "*.wandb.synced"  # file with which W&B marks an uploaded run
MODES = ("auto", "online", "offline")
USUAL_PROJECT = re.compile(r"[\w-]{1,64}", re.ASCII)  # names that W&B accepts, among others
INIT_SECONDS = 30.0
FINISH_SECONDS = 120.0  # time limit for uploading; the rest stays on disk and can be synced
SECONDS = 2.0  # time limit for an answer

# Variables that identify another run or its files, which a parent process may have set. All other
# variables (key, host, project, tags, notes, mode, ...) are settings of the user, read by
# conf/logger/wandb.yaml or by W&B.
ANOTHER_RUN = (
    *("WANDB_RUN_ID", "WANDB_JOB_TYPE", "WANDB_DIR", "WANDB_RUN_DIR"),
    *("WANDB_RESUME", "WANDB_RESUME_FROM", "WANDB_FORK_FROM", "WANDB_RUN_STORAGE_ID"),
    # the sweep of a W&B agent would replace project, group and id
    *("WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH"),
    # the background process of another run, which ends with that run
    "WANDB_SERVICE",
)


def clean_environment() -> None:
    """Remove environment variables of W&B that identify another run, and variables that are empty.

    W&B rejects empty variables, which most programs treat as unset.
    """
    for name, value in list(os.environ.items()):
        if name in ANOTHER_RUN or (name.startswith("WANDB_") and not value.strip(" ,")):
            del os.environ[name]
    if "WANDB_TAGS" in os.environ:
        os.environ["WANDB_TAGS"] = ",".join(as_tags(os.environ["WANDB_TAGS"]))


def check_settings(project: str) -> None:
    """Call `clean_environment`, and check the environment variables that are left, and the name of
    the project.

    Raises:
        UserError: W&B does not accept a value. The message does not repeat the value, which may be
            a key.
    """
    clean_environment()
    given = {name: value for name, value in os.environ.items() if name.startswith("WANDB_")}
    if not given and USUAL_PROJECT.fullmatch(project):
        return
    import wandb  # takes a second

    for name, value in {**given, "WANDB_PROJECT": project}.items():
        try:
            wandb.Settings().update_from_env_vars({name: value})
        except (ValueError, wandb.Error):
            key = "logger.project or WANDB_PROJECT" if name == "WANDB_PROJECT" else name
            raise UserError(f"W&B does not accept the value of {key}") from None


def as_tags(given: Iterable[object] | str | None) -> list[str]:
    """Return tags without duplicates and without empty tags, cut to the length that W&B takes; a
    text is split at commas.
    """
    tags = given.split(",") if isinstance(given, str) else given or []
    stripped = (str(tag).strip()[:LONGEST_NAME] for tag in tags)
    return [tag for tag in dict.fromkeys(stripped) if tag]


def settle(wanted: str) -> str:
    """Return the mode for `wandb.init`: WANDB_MODE if it is set, else `wanted`.

    The mode "auto" becomes "online" if W&B has a key and its server answers, else "offline". The
    test of the connection takes at most `SECONDS`.

    Raises:
        UserError: the mode is online and there is no key.
    """
    mode = os.environ.get("WANDB_MODE") or wanted
    if mode not in ("auto", "online"):
        return mode
    if not has_key():
        if mode == "online":  # W&B would ask for a key
            raise UserError(
                "W&B has to be online (logger.mode or WANDB_MODE), but there is no key; "
                "wandb login stores one"
            )
        return "offline"
    import wandb

    url = wandb.setup().settings.base_url
    return "online" if mode == "online" or reachable(url) else "offline"


def has_key() -> bool:
    """Return whether an API key of W&B is stored or set, without asking the user for a key."""
    import wandb

    # silent: otherwise login would contact the server
    wandb.setup(settings=wandb.Settings(silent=True))
    try:
        return wandb.login(prompt=False, verify=False)
    except (wandb.Error, ValueError):  # a malformed key
        return False


def reachable(url: str) -> bool:
    """Return whether a host answers within `SECONDS`, if need be through the user's proxy."""
    import requests

    try:
        return requests.head(url, timeout=SECONDS).status_code < 500
    except requests.RequestException:
        return False


def start(wanted: str, folder: Path, identity: str, *, goes_on: bool, **about: Any) -> Any:
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
    import wandb

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


def _init(mode: Any, about: dict[str, Any], *, goes_on: bool) -> Any:
    import wandb
    from wandb.sdk.wandb_run import Run

    if "wandb.sdk.launch" not in sys.modules:  # slow to import, and without W&B Launch of no use
        setattr(Run, "_detect_and_apply_job_inputs", lambda run: None)  # noqa: B010
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


def init_args(
    logger: Mapping[str, Any], experiment: str, job: str, claims: Sequence[str]
) -> dict[str, object]:
    """Return project, group and tags as keyword arguments of `wandb.init`.

    Args:
        logger: the config node of logger=wandb.
        experiment: name of the experiment, the default of the group.
        job: job type of the run.
        claims: ids of the claims of the study, which are further tags.
    """
    return {
        "project": logger["project"],
        "entity": logger["entity"] or None,
        "notes": logger["notes"] or None,
        "group": cut(logger["group"] or experiment, LONGEST_TITLE),
        "job_type": cut(job, LONGEST_NAME),
        "tags": as_tags([*claims, *as_tags(logger["tags"])]),
    }


def advise_sync(folder: Path) -> str:
    """Return how to upload the runs of W&B that are stored on this disk alone, in the folder of a
    run or in that of a sweep and of its runs; "" if there are none.
    """
    runs = {Path(outcome["folder"]) for outcome in read_outcomes(folder) if "folder" in outcome}
    waiting = [
        place.parent / "*" if place in runs else place
        for place in (*runs, folder)
        if not all(any(path.glob(SYNCED)) for path in place.glob(OFFLINE))
    ]
    places = " ".join(f"{place}/{OFFLINE}" for place in dict.fromkeys(waiting))
    return f"W&B lacks runs. To upload them: wandb sync {places}" if places else ""

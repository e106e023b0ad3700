"""Whether W&B is reached: decided without a prompt and without waiting."""

import http.client
import os
import ssl
import threading
import urllib.error
import urllib.request
from typing import Literal, cast, get_args

import wandb

from ablate.errors import UserError

Mode = Literal["online", "offline", "shared", "disabled", "dryrun", "run"]  # W&B's own
MODES = ("auto", "online", "offline")
SECONDS = 2.0  # for an answer; a network that needs longer is none

# What says which run this is and where its files lie, which is ours to say; a process that started
# this one may have left it. Everything else (key, host, project, tags, notes, mode, ...) is the
# user's wish: conf/logger/wandb.yaml reads it, or W&B does.
ANOTHER_RUN = (
    *("WANDB_RUN_ID", "WANDB_JOB_TYPE", "WANDB_DIR", "WANDB_RUN_DIR"),
    *("WANDB_RESUME", "WANDB_RUN_STORAGE_ID"),
    # an agent's sweep would replace our project, group and id
    *("WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH"),
    # the background process of the other run, which ends with it
    "WANDB_SERVICE",
)


def forget_other_runs() -> None:
    """Take what names another W&B run out of the environment."""
    for name in ANOTHER_RUN:
        os.environ.pop(name, None)


def settle(wanted: str) -> Mode:
    """Return the mode for `wandb.init`: WANDB_MODE if set, else what is wanted.

    "auto" is online with a key and a network, else offline. Takes at most SECONDS.

    Raises:
        UserError: WANDB_MODE is no mode, or the mode is online and there is no key.
    """
    mode = os.environ.get("WANDB_MODE") or wanted
    if mode not in ("auto", *get_args(Mode)):
        raise UserError(f"WANDB_MODE={mode}: allowed is {', '.join(get_args(Mode))}")
    if mode not in ("auto", "online"):
        return cast("Mode", mode)
    # silent: to say who is logged in, a login would ask the server
    settings = wandb.setup(settings=wandb.Settings(silent=True)).settings
    if has_key():
        return "online" if mode == "online" or reachable(settings.base_url) else "offline"
    if mode == "online":  # W&B would ask for a key
        raise UserError("W&B is to be online, but there is no key; wandb login stores one")
    return "offline"


def has_key() -> bool:
    """Whether somebody is logged in; asks nobody."""
    try:
        return wandb.login(prompt=False, verify=False)
    except (wandb.Error, ValueError):  # a key of the wrong form
        return False


def reachable(url: str) -> bool:
    """Whether a host answers in time; asks through the proxy if there is one, and sends nothing."""
    answers: list[bool] = []
    # A thread, because looking up a name has no time limit of its own.
    thread = threading.Thread(target=lambda: answers.append(_answers(url)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    return bool(answers and answers[0])


def _answers(url: str) -> bool:
    anyone = ssl.create_default_context()  # W&B itself checks who it is before it sends
    anyone.check_hostname = False
    anyone.verify_mode = ssl.CERT_NONE
    try:
        question = urllib.request.Request(url, method="HEAD")
        urllib.request.urlopen(question, timeout=SECONDS, context=anyone).close()
    except urllib.error.HTTPError as answer:
        return answer.code < 500  # above, a proxy speaks for a host that it does not reach
    except (OSError, ValueError, http.client.HTTPException):
        return False
    return True

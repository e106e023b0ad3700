"""Whether W&B is reached: decided without a prompt and without waiting."""

import os
import socket
import threading
import urllib.request
from urllib.parse import urlsplit

import wandb

from ablate.errors import UserError

MODES = ("auto", "online", "offline")
SECONDS = 2.0  # for a connection; a network that needs longer is none

# What names another run, left by a process that started this one. Everything else (key, host,
# entity, mode, folders of caches, time limits) is the user's wish and stays.
ANOTHER_RUN = (
    *("WANDB_RUN_ID", "WANDB_NAME", "WANDB_NOTES", "WANDB_DESCRIPTION", "WANDB_RUN_GROUP"),
    *("WANDB_JOB_TYPE", "WANDB_TAGS", "WANDB_PROJECT", "WANDB_DIR", "WANDB_RUN_DIR"),
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


def settle(mode: str) -> str:
    """Return the mode for `wandb.init`: WANDB_MODE if set, else what `mode` asks for.

    "auto" is online with a key and a network, else offline. Takes at most SECONDS.

    Raises:
        UserError: there is no such mode.
    """
    if mode not in MODES:
        raise UserError(f"logger.mode={mode}: allowed is {', '.join(MODES)}")
    if given := os.environ.get("WANDB_MODE"):
        return given
    if mode != "auto":
        return mode
    # silent: a login that says who is logged in would ask the server
    settings = wandb.setup(settings=wandb.Settings(silent=True)).settings
    return "online" if _has_key() and reachable(settings.base_url) else "offline"


def _has_key() -> bool:
    try:
        return wandb.login(prompt=False)
    except (wandb.Error, ValueError):  # a key of the wrong form
        return False


def reachable(url: str) -> bool:
    """Whether the host of a URL, or the proxy that leads to it, accepts a connection in time."""
    answers: list[bool] = []
    # A thread, because looking up a name has no time limit of its own.
    thread = threading.Thread(target=lambda: answers.append(_connects(url)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    return bool(answers and answers[0])


def _connects(url: str) -> bool:
    parts = urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname, port), timeout=SECONDS).close()
    except OSError:
        return False
    return True

"""Determine whether W&B can be reached, without a prompt and without waiting, start a W&B run for a
training run or for the verdict of a sweep, and connect to W&B's API.
"""

import contextlib
import http.client
import io
import os
import shutil
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast, get_args

import wandb
from pydantic import ValidationError
from wandb.sdk.wandb_run import Run

from ablate.errors import UserError, first_line
from ablate.wandb.note import LONGEST_NAME, LONGEST_TITLE

Mode = Literal["online", "offline", "shared", "disabled", "dryrun", "run"]  # the modes of W&B
MODES = ("auto", "online", "offline")
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
# For each config key of logger=wandb, the environment variable that sets its default.
GIVEN_BY = {"project": "WANDB_PROJECT", "group": "WANDB_RUN_GROUP", "tags": "WANDB_TAGS"}
SECRET = ("KEY", "TOKEN", "HEADERS", "PROXY", "PROXIES")  # parts of names of variables with secrets


def clean_environment() -> None:
    """Remove environment variables of W&B that identify another run, and variables that are empty.

    W&B rejects empty variables, which most programs treat as unset.
    """
    for name, value in list(os.environ.items()):
        if name in ANOTHER_RUN or (name.startswith("WANDB_") and not value.strip(" ,")):
            del os.environ[name]
    if "WANDB_TAGS" in os.environ:
        os.environ["WANDB_TAGS"] = ",".join(as_tags(os.environ["WANDB_TAGS"]))


def check_environment() -> None:
    """Call `clean_environment`, and check the values of the environment variables that are left.

    Raises:
        UserError: W&B does not accept the value of a variable.
    """
    clean_environment()
    for name, value in os.environ.items():
        try:
            wandb.Settings().update_from_env_vars({name: value})
        except (ValueError, wandb.Error) as error:
            shown = "..." if any(word in name for word in SECRET) else value
            raise UserError(
                f"{name}={shown}: W&B does not accept this variable ({_reason(error)}); "
                f"correct it, or unset {name}"
            ) from None


def check_names(project: str, group: str | None, tags: Iterable[str]) -> None:
    """Check the project, group and tags that a user sets for W&B.

    Raises:
        UserError: W&B does not accept one of the names.
    """
    try:
        wandb.Settings(project=project)
    except (ValueError, wandb.Error) as error:
        raise UserError(f"{_setting('project', project)}: {_reason(error)}") from None
    limits = [("group", group or "", LONGEST_TITLE), *(("tags", t, LONGEST_NAME) for t in tags)]
    for key, name, longest in limits:
        if len(name) > longest:
            raise UserError(
                f"{_setting(key, name)}: it has {len(name)} characters, and W&B takes at most "
                f"{longest}; choose a shorter name"
            )


def _setting(key: str, name: str) -> str:
    """Return `KEY=NAME` for an error message, with the environment variable or config key that set
    the name.

    Args:
        key: the W&B setting: project, group or tags.
        name: the value of the setting.
    """
    given = os.environ.get(GIVEN_BY[key], "")
    by_variable = name in (as_tags(given) if key == "tags" else [given])
    return f"{GIVEN_BY[key] if by_variable else f'logger.{key}'}={name}"


def _reason(error: Exception) -> str:
    """Return the message of an error of W&B or pydantic, cut to one line."""
    if isinstance(error, ValidationError):
        return str(error.errors()[0]["msg"])
    return first_line(error)


def as_tags(given: Iterable[object] | str | None) -> list[str]:
    """Return tags without duplicates and without empty tags; a text is split at commas."""
    listed = given.split(",") if isinstance(given, str) else given or []
    return [tag for tag in dict.fromkeys(str(tag).strip() for tag in listed) if tag]


def settle(wanted: str) -> Mode:
    """Return the mode for `wandb.init`: WANDB_MODE if it is set, else `wanted`.

    The mode "auto" becomes "online" if W&B has a key and its server answers, else "offline". The
    test of the connection takes at most `SECONDS`.

    Raises:
        UserError: WANDB_MODE is invalid, or the mode is online and there is no key.
    """
    mode = os.environ.get("WANDB_MODE") or wanted
    if mode not in ("auto", *get_args(Mode)):
        raise UserError(f"WANDB_MODE={mode}: allowed is {', '.join(get_args(Mode))}")
    if mode not in ("auto", "online"):
        return cast("Mode", mode)
    if not has_key():
        if mode == "online":  # W&B would ask for a key
            raise UserError(
                "W&B has to be online (logger.mode or WANDB_MODE), but there is no key; "
                "wandb login stores one"
            )
        return "offline"
    url = wandb.setup().settings.base_url
    return "online" if mode == "online" or reachable(url) else "offline"


def has_key() -> bool:
    """Return whether an API key of W&B is stored or set, without asking the user for a key."""
    # silent: otherwise login would contact the server
    wandb.setup(settings=wandb.Settings(silent=True))
    # W&B warns after an offline run of this process; the warning is discarded
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return wandb.login(prompt=False, verify=False)
    except (wandb.Error, ValueError):  # a malformed key
        return False


def connect() -> Any:
    """Return W&B's API client, without a prompt.

    Raises:
        UserError: there is no key or no connection, or W&B does not accept an environment variable.
    """
    check_environment()
    url = wandb.setup(settings=wandb.Settings(silent=True)).settings.base_url
    if not has_key():
        raise UserError("W&B needs an API key: store one with `wandb login`")
    if not reachable(url):
        raise UserError(f"W&B cannot be reached at {url}: check the network and WANDB_BASE_URL")
    try:
        return wandb.Api()
    except Exception as error:  # W&B's client raises many kinds of errors
        raise UserError(f"W&B does not accept the API key: {error}") from None


def reachable(url: str) -> bool:
    """Return whether a host answers within `SECONDS`, through a proxy if the environment sets one.

    No data is sent.
    """
    answers: list[bool] = []
    # A thread, because name resolution has no time limit.
    thread = threading.Thread(target=lambda: answers.append(_answers(url)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    return bool(answers and answers[0])


def _answers(url: str) -> bool:
    anyone = ssl.create_default_context()  # W&B verifies the server itself before it sends data
    anyone.check_hostname = False
    anyone.verify_mode = ssl.CERT_NONE
    try:
        question = urllib.request.Request(url, method="HEAD")
        urllib.request.urlopen(question, timeout=SECONDS, context=anyone).close()
    except urllib.error.HTTPError as answer:
        return answer.code < 500  # higher codes come from a proxy that cannot reach the host
    except (OSError, ValueError, http.client.HTTPException):
        return False
    return True


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


def finish(run: Run, *, failed: bool) -> None:
    """Finish a W&B run, and print how to upload an offline run."""
    folder = Path(run.dir).parent
    run.finish(exit_code=int(failed))
    if run.offline:
        print(f"W&B is offline; to upload this run: wandb sync {folder}")

"""The end of a process: exit statuses, and the messages of errors."""

import os
import sys
from bdb import BdbQuit
from collections.abc import Iterator
from contextlib import contextmanager

from ablate.config.location import groups, option_files
from ablate.errors import UserError, suggestion

# Hydra's variable; `ablate.cli.train` sets it, so its value is read before
FULL_ERROR = "HYDRA_FULL_ERROR"
WITH_TRACEBACK = os.environ.get(FULL_ERROR) == "1"
# packages whose error messages are printed without a traceback
LIBRARIES = (
    *("hydra", "omegaconf", "antlr4", "yaml", "pydantic", "pydantic_core"),
    *("pytorch_lightning", "lightning_fabric", "ray", "submitit", "datasets", "huggingface_hub"),
)


@contextmanager
def exit_statuses(prog: str) -> Iterator[None]:
    """Turn errors of a `with` block into exit statuses; print the message of a UserError, and of an
    error of one of the LIBRARIES, after `prog`.
    """
    try:
        yield
    except (KeyboardInterrupt, BdbQuit):  # Ctrl-C, or the user has left the debugger
        sys.exit(130)
    except Exception as error:
        if isinstance(error, UserError):
            print(f"{prog}: {error}", file=sys.stderr)
            sys.exit(2)
        if WITH_TRACEBACK or not _is_of_library(error):
            raise error from error.__cause__
        print(f"{prog}: {_message(error)}", file=sys.stderr)
        print(f"{FULL_ERROR}=1 before the command shows the traceback", file=sys.stderr)
        sys.exit(2)


def _is_of_library(error: BaseException) -> bool:
    """Return whether the class of an error, or the function that raised the error, is defined in
    one of the LIBRARIES.
    """
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    raised_in = frame.tb_frame.f_globals.get("__name__", "") if frame else ""
    names = (type(error).__module__, str(raised_in))
    return any(name.partition(".")[0] in LIBRARIES for name in names)


def _message(error: BaseException) -> str:
    """Return the message of a library's error and of its cause, and a similar key or option."""
    from hydra.errors import MissingConfigException
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError

    text = str(error).strip() or type(error).__name__
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        # the next paragraphs list all options, and all folders with configs
        group, _, option = str(error.missing_cfg_file).lstrip("/").rpartition("/")
        options = option_files(group)
        hint = suggestion(option, [*(error.options or options)])
        if group and options:
            hint += f"`ablate options {group}` lists all options; options of your own need "
            hint += "--config-dir FOLDER"
        return f"{text.partition(chr(10))[0]}\n{hint}".strip()
    if error.__cause__:
        text = f"{text}\n{error.__cause__}".strip()
    unknown = error.__cause__ or error.__context__
    if not isinstance(unknown, ConfigAttributeError | ConfigKeyError):
        return text
    names = [*map(str, unknown.parent_node or ()), *groups()]
    return f"{text}\n{suggestion(str(unknown.key), names)}".strip()

"""Reading files that a user gives, in formats with a parser of their own."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ablate.data.text import read_raw_text, read_text
from ablate.errors import UserError


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Context manager for reading a file: errors name the file, and the line that is not UTF-8.

    Raises:
        UserError: the file cannot be read, is not UTF-8, or is nested too deeply.
    """
    try:
        yield
    except UnicodeDecodeError:
        read_raw_text(path)  # which names the line and the byte
        raise
    except RecursionError:
        raise UserError(f"{path} cannot be read: it is nested too deeply") from None
    except (OSError, EOFError, zlib.error) as error:  # the last two of a damaged gzip file
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be read: {reason}") from None


def read_yaml(path: Path) -> Any:
    """Return the plain data of a YAML file; objects of Python in the file are not built.

    Raises:
        UserError: the file is missing, not UTF-8, or no YAML.
    """
    import yaml

    try:
        with named(path):
            return yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise UserError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None

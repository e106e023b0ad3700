"""Control whether Python imports the user's packages from the current folder, and find modules
without importing their packages.

`python -m` searches the current folder before all installed packages. A console script does not
search it at all. Here both search it last, and only in commands that construct components of the
user. So a file torch.py in the current folder does not hide the package torch. `python -P` and
PYTHONSAFEPATH disable the search.
"""

import functools
import importlib.util
import os
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec


def leave_current_folder() -> None:
    """Remove the current folder from sys.path, if Python has added it there."""
    with suppress(OSError):  # the folder no longer exists
        if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
            del sys.path[0]


def search_current_folder() -> None:
    """Make this process and its child processes search the current folder last for imports."""
    with suppress(OSError):
        if not sys.flags.safe_path and os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())


@functools.cache
def spec_of(name: str) -> ModuleSpec | None:
    """Return where a module lies, without importing its package; None if there is none."""
    parent, _, last = name.rpartition(".")
    if not parent:
        with suppress(ValueError):  # a module such as __main__
            return importlib.util.find_spec(name)
        return None
    package = spec_of(parent)
    if package is None or package.submodule_search_locations is None:
        return None
    folders = [*package.submodule_search_locations]
    try:
        specs = (finder.find_spec(name, folders) for finder in sys.meta_path)
        return next(filter(None, specs), None)
    except KeyError:  # Python finds a namespace package only after it has imported the parent
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [f"{folder}/{last}" for folder in folders]
        return spec

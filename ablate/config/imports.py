"""Control whether Python imports the user's packages from the current folder.

`python -m` searches the current folder before all installed packages, a console script not at all.
Here both search it last, and only in commands that build components of the user: a file called
torch.py there replaces nothing. `python -P` and PYTHONSAFEPATH switch it off.
"""

import os
import sys
from contextlib import suppress


def leave_current_folder() -> None:
    """Remove the entry for the current folder that Python has added to sys.path."""
    with suppress(OSError):  # the folder no longer exists
        if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
            del sys.path[0]


def search_current_folder() -> None:
    """Search the current folder last for imports, also in child processes."""
    with suppress(OSError):
        if not sys.flags.safe_path and os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())

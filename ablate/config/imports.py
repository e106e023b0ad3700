"""Control whether Python imports the user's packages from the current folder.

`python -m` searches the current folder before all installed packages. A console script does not
search it at all. Here both search it last, and only in commands that construct components of the
user. So a file torch.py in the current folder does not hide the package torch. `python -P` and
PYTHONSAFEPATH disable the search.
"""

import os
import sys
from contextlib import suppress


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

"""Whether Python looks for the user's packages in the current folder, and in which order.

`python -m` searches the current folder before all that is installed, a console script not at all.
Here both search it where a command builds components of the user, and after all that is installed:
a file called torch.py there replaces nothing. `python -P` and PYTHONSAFEPATH switch it off.
"""

import os
import sys
from contextlib import suppress


def leave_current_folder() -> None:
    """Take the entry of sys.path away that Python itself has made for the current folder."""
    with suppress(OSError):  # the folder is gone
        if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
            del sys.path[0]


def search_current_folder() -> None:
    """Let imports, of child processes as well, look into the current folder last."""
    with suppress(OSError):
        if not sys.flags.safe_path and os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())

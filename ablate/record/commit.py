"""Find the git commit of this package's source."""

import functools
import subprocess

from ablate.config.location import CONF, PACKAGE

# appended to a commit if files of the package or its configs have changed since
CHANGED = "+changes"
SECONDS = 5  # time limit for git


@functools.cache
def source_commit() -> str | None:
    """Return the commit of this package, followed by `CHANGED` if files differ from the commit.

    Return None if git does not track these files: an installed package may be inside the repository
    of another project.
    """
    if not _git("ls-files", "__init__.py"):
        return None
    changed = _git("status", "--porcelain", "--", str(PACKAGE), str(CONF))
    commit = _git("rev-parse", "HEAD")
    return commit and commit + CHANGED * bool(changed)


def _git(*words: str) -> str:
    """Return the output of a git command in the folder of this package; "" if the command fails."""
    command = ["git", "-C", str(PACKAGE), *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

"""The git commit of this package's source."""

import functools
import subprocess

from ablate.config.location import CONF, PACKAGE

CHANGED = "+changes"  # after a commit: files of the package or its configs were changed since
SECONDS = 5  # that git may take


@functools.cache
def source_commit() -> str | None:
    """Return the commit of this package, with `CHANGED` after it where files differ from it.

    None where git does not know these files: an installed package may lie inside the repository of
    somebody else.
    """
    if not _git("ls-files", "__init__.py"):
        return None
    changed = _git("status", "--porcelain", "--", str(PACKAGE), str(CONF))
    commit = _git("rev-parse", "HEAD")
    return commit and commit + CHANGED * bool(changed)


def _git(*words: str) -> str:
    """Return what git prints in the folder of this package; "" where it fails."""
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

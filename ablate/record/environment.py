"""Describe the command, machine and versions of a run, with the git commit of this package's
source.
"""

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from ablate.config.location import PACKAGE

# appended to a commit if Python or YAML files of its repository have changed since
CHANGED = "+changes"
SECONDS = 5  # time limit for git


def environment() -> dict[str, Any]:
    """Return the command, machine and versions that produced the numbers of a run."""
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": processor(),
        "instructions": instructions(),
        "cores": os.cpu_count(),
        "commit": source_commit(),
        "packages": packages(),
    }


@functools.cache
def processor() -> str:
    """Return the name of the processor as the system reports it."""
    cpu_info = Path("/proc/cpuinfo")  # exists only on Linux
    lines = cpu_info.read_text(encoding="utf-8").splitlines() if cpu_info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def instructions() -> str:
    """Return the instruction set of torch's kernels, such as "AVX2" or "AVX512", which add numbers
    in different orders.
    """
    import torch  # slow to import; a run has imported it

    return torch.backends.cpu.get_cpu_capability()


@functools.cache
def packages() -> dict[str, str]:
    """Return the versions of all installed packages."""
    files = (package.metadata for package in importlib.metadata.distributions())  # read once each
    return {about["Name"]: about["Version"] for about in files if about["Name"]}


@functools.cache
def source_commit() -> str | None:
    """Return the commit of this package, followed by `CHANGED` if code or configs differ from it.

    Return None if git does not track these files: an installed package may be inside the repository
    of another project.
    """
    if not _git("ls-files", "__init__.py"):
        return None
    changed = _git("status", "--porcelain", "--untracked-files=all", "--", ":/*.py", ":/*.yaml")
    commit = _git("rev-parse", "HEAD")
    return commit and commit + CHANGED * bool(changed)


def _git(*words: str) -> str:
    """Return the output of a git command in the folder of this package; "" if the command fails."""
    command = ["git", "-C", str(PACKAGE), *words]
    try:
        output = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return output.decode(errors="backslashreplace").strip()

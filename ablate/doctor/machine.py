"""Check the machine and the installation, without importing torch."""

import importlib.metadata
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from ablate import __version__
from ablate.config.location import PACKAGE
from ablate.doctor.diagnosis import Diagnosis, size

SHOWN = ("torch", "pytorch-lightning", "hydra-core", "wandb", "numpy")
EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
FOR_DEVELOPERS = ("dev", "docs", "browser")
INSTALL = "pip install --upgrade ablate, or make setup in a clone"


def look_at_program() -> Diagnosis:
    """Diagnose the program: the versions of ablate and Python, and the folder of ablate."""
    version = platform.python_version()
    return Diagnosis("ablate", f"{__version__} in {PACKAGE}, Python {version}")


def look_at_machine() -> Diagnosis:
    """Diagnose the machine: the operating system, the number of CPU cores, the memory, and whether
    OMP_NUM_THREADS is valid.
    """
    cores, usable = os.cpu_count() or 1, _usable_cores()
    limited = f" ({usable} for this process)" if usable != cores else ""
    system = f"{platform.system()} {platform.machine()}, {cores} cores{limited}"
    seen = f"{system}, {size(_memory())} of memory"
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads and (not threads.isdigit() or int(threads) < 1):
        return Diagnosis(
            *("machine", seen, f"OMP_NUM_THREADS={threads} is not a number of threads"),
            "unset it; the key threads= says how many a run uses",
        )
    return Diagnosis("machine", seen)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int:
    """Return the bytes of memory; 0 if the system does not report them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return 0


def look_at_packages() -> Diagnosis:
    """Diagnose the required libraries: some versions, and each library that is missing or does not
    have a required version.
    """
    seen = ", ".join(f"{name} {_version(name) or 'missing'}" for name in SHOWN)
    wrong = [
        _wrong(requirement)
        for requirement in _requirements()
        if not EXTRA.search(str(requirement.marker or ""))
    ]
    if wrong := [sentence for sentence in wrong if sentence]:
        return Diagnosis("packages", seen, "; ".join(wrong), INSTALL)
    return Diagnosis("packages", seen)


def look_at_extras() -> Diagnosis:
    """Diagnose the optional dependencies: which extras are installed, missing or too old.

    A missing extra is not a problem.
    """
    needed: dict[str, list[Requirement]] = {}
    for requirement in _requirements():
        if match := EXTRA.search(str(requirement.marker or "")):
            needed.setdefault(match[1], []).append(requirement)
    names = [name for name in needed if name not in FOR_DEVELOPERS]
    there = [
        name for name in names if all(_version(requirement.name) for requirement in needed[name])
    ]
    missing = [name for name in names if name not in there]
    old = [s for name in there for requirement in needed[name] if (s := _wrong(requirement, name))]
    hint = f"; missing: {', '.join(missing)} (pip install 'ablate[NAME]')" if missing else ""
    seen = f"{', '.join(there) or 'none'}{hint}"
    return Diagnosis("extras", seen, "; ".join(old), INSTALL if old else "")


def _requirements() -> Iterator[Requirement]:
    """Return an iterator over the requirements of the installed package.

    The iterator is empty if ablate runs without installation.
    """
    try:
        declared = importlib.metadata.requires("ablate") or []
    except importlib.metadata.PackageNotFoundError:
        declared = []
    return map(Requirement, declared)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _wrong(needed: Requirement, extra: str = "") -> str:
    """Return the problem of a required library: it is missing, or has a version that the
    requirement excludes; "" without a problem, or if the requirement does not apply here.
    """
    if needed.marker and not needed.marker.evaluate({"extra": extra}):
        return ""
    version = _version(needed.name)
    if version is None:
        return f"{needed.name} is missing"
    if not needed.specifier.contains(version, prereleases=True):
        return f"{needed.name} is {version}, but {needed.name}{needed.specifier} is needed"
    return ""


def nearest(path: Path) -> Path:
    """Return a path if it exists, else its nearest parent folder that exists."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())

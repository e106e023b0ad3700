"""Check the machine and the installation, without importing torch."""

import importlib.metadata
import os
import platform
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from packaging.requirements import Requirement

from ablate import __version__
from ablate.config.location import PACKAGE

SHOWN = ("torch", "pytorch-lightning", "hydra-core", "wandb", "numpy")
EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
NO_EXTRAS = ("", "dev", "docs", "browser")  # required libraries, and libraries for developers
INSTALL = "pip install --upgrade ablate, or make setup in a clone"


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check of the installation.

    `check` is the name of the check, and `seen` describes the state of the checked part. `problem`
    and `advice` are "" if there is no problem.
    """

    check: str
    seen: str
    problem: str = ""
    advice: str = ""

    def lines(self) -> list[str]:
        """Return the lines that `ablate doctor` prints for this check: one with the state of the
        checked part and, if there is a problem, one with the problem and the advice.
        """
        mark = "!" if self.problem else " "
        first = f"{mark} {self.check:9} {self.seen}"
        return [first, f"{'':12}{self.problem}: {self.advice}"] if self.problem else [first]


def size(n_bytes: float | int) -> str:
    """Return a number of bytes as text, in MB or GB."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"


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
    wrong = _problems(_requirements().get("", []))
    return Diagnosis("packages", seen, wrong, INSTALL if wrong else "")


def look_at_extras() -> Diagnosis:
    """Diagnose the optional dependencies: which extras are installed, missing or too old.

    A missing extra is not a problem.
    """
    extras = {name: needed for name, needed in _requirements().items() if name not in NO_EXTRAS}
    there = [name for name in extras if all(_version(needed.name) for needed in extras[name])]
    missing = ", ".join(name for name in extras if name not in there)
    hint = f"; missing: {missing} (pip install 'ablate[NAME]')" if missing else ""
    old = _problems(needed for name in there for needed in extras[name])
    return Diagnosis("extras", f"{', '.join(there) or 'none'}{hint}", old, INSTALL if old else "")


def _requirements() -> dict[str, list[Requirement]]:
    """Return the requirements of the installed package that apply to this system, by extra, with
    "" for the required libraries; {} if ablate runs without installation.
    """
    by_extra: dict[str, list[Requirement]] = {}
    with suppress(importlib.metadata.PackageNotFoundError):
        for needed in map(Requirement, importlib.metadata.requires("ablate") or []):
            extra = match[1] if (match := EXTRA.search(str(needed.marker or ""))) else ""
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                by_extra.setdefault(extra, []).append(needed)
    return by_extra


def _version(name: str) -> str | None:
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


def _problems(requirements: Iterable[Requirement]) -> str:
    """Return which required libraries are missing, or have a version that is excluded."""
    problems = []
    for needed in requirements:
        version = _version(needed.name)
        if version is None:
            problems.append(f"{needed.name} is missing")
        elif not needed.specifier.contains(version, prereleases=True):
            problems.append(
                f"{needed.name} is {version}, but {needed.name}{needed.specifier} is needed"
            )
    return "; ".join(problems)

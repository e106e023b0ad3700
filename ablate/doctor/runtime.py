"""Check torch, the folders and W&B; importing torch and W&B takes seconds."""

import json
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

import torch

from ablate.doctor.installation import Diagnosis, size
from ablate.errors import UserError
from ablate.phrases import counted
from ablate.record.files import check_writable
from ablate.record.identity import outdated
from ablate.record.sealed import RESULT, read_sealed
from ablate.wandb.connection import ANOTHER_RUN, check_environment, settle
from ablate.wandb.note import OFFLINE, is_synced

BLAS = re.compile(r"BLAS_INFO=(\w+)")
NONE = ("", "generic")  # values of BLAS_INFO if torch has no library for matrix products
REINSTALL = "install a build from pytorch.org for this machine"
LEAST = 1e9  # minimum of free bytes; a sweep of the built-in corpus writes some hundred megabytes
UNFINISHED, DAMAGED = "unfinished", "damaged"
MODES = {
    "online": "online: runs are sent while they train",
    "offline": "offline: runs stay on this disk until ablate upload",
    "disabled": "disabled by WANDB_MODE: nothing is sent to W&B, or kept for a later upload",
}


def look_at_torch() -> Diagnosis:
    """Diagnose torch: its version, and the libraries with which it multiplies matrices on the
    CPU.
    """
    backends = {"MKL": torch.backends.mkl, "oneDNN": torch.backends.mkldnn}
    fast = [name for name, backend in backends.items() if backend.is_available()]
    match = BLAS.search(torch.__config__.show())
    blas = match[1] if match else ""
    libraries = fast or ([] if blas.lower() in NONE else [blas])
    seen = f"{torch.__version__}, {' and '.join(libraries) or 'no library'} for matrices on the CPU"
    if not libraries:
        problem = "this torch has no fast library for matrices, so training on the CPU is slow"
        return Diagnosis("torch", seen, problem, REINSTALL)
    return Diagnosis("torch", seen)


def look_at_devices() -> Diagnosis:
    """Diagnose the devices that torch can use; it is a problem if torch does not see an NVIDIA GPU
    of the machine.
    """
    if torch.cuda.is_available():
        numbers = range(torch.cuda.device_count())
        return Diagnosis("devices", ", ".join(map(torch.cuda.get_device_name, numbers)))
    if torch.backends.mps.is_available():
        return Diagnosis("devices", "CPU, Apple GPU (trainer.accelerator=mps)")
    if shutil.which("nvidia-smi") is None or os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return Diagnosis("devices", "CPU")
    built = torch.version.cuda
    reason = f"built for CUDA {built}" if built else "built without CUDA"
    problem = f"this machine has an NVIDIA driver, but torch, {reason}, sees no GPU"
    advice = "run nvidia-smi; a driver that is too old must be updated" if built else REINSTALL
    return Diagnosis("devices", "CPU", problem, advice)


def look_at_cache(cache: Path) -> Diagnosis:
    """Diagnose the cache folder: its size, the free disk space, and whether it can be written."""
    seen = f"{size(_bytes(cache))} in {cache}, {_free(cache)} free on its disk"
    return Diagnosis("cache", seen, *_trouble(cache, "paths.cache"))


def look_at_results(results: Path) -> Diagnosis:
    """Diagnose the results folder: the number of runs by state, the number of runs made with other
    versions of code or libraries, and the first problem, with advice.
    """
    runs = [path for path in sorted(results.glob("runs/*")) if path.is_dir()]
    states = Counter(_state(run) for run in runs)
    old = sum(_is_old(run) for run in runs)
    parts = [f"{count} {state}" for state, count in sorted(states.items())]
    if old:
        parts.append(f"{old} by other code or libraries than those of today")
    seen = f"{counted(len(runs), 'run')} in {results}"
    seen += f" ({', '.join(parts)})" if parts else ""
    trouble = _trouble(results, "paths.results")
    if not trouble and states[DAMAGED]:
        advice = "delete their folders in runs/; the same command trains them again"
        trouble = (f"{counted(states[DAMAGED], 'run')} with a damaged or edited result", advice)
    if not trouble and old:
        advice = "keep them if reports need them, else see docs/howto/clean.md"
        trouble = (f"the same command would train {counted(old, 'run')} again", advice)
    return Diagnosis("results", seen, *trouble)


def _trouble(folder: Path, key: str) -> tuple[str, str] | tuple[()]:
    """Return the problem of a folder (not writable, or a full disk) and the advice; () without a
    problem.

    `key` is the config key that sets the folder.
    """
    try:
        check_writable(_nearest(folder))
    except UserError as error:
        return str(error), f"choose another folder with {key}=FOLDER"
    free = shutil.disk_usage(_nearest(folder)).free
    if free < LEAST:
        advice = f"make room (ablate clean), or choose another disk with {key}=FOLDER"
        return f"only {size(free)} are free on its disk", advice
    return ()


def _free(folder: Path) -> str:
    return size(shutil.disk_usage(_nearest(folder)).free)


def _bytes(folder: Path) -> int:
    paths = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_size for path in paths if path.exists())


def _state(run: Path) -> str:
    try:
        return str(read_sealed(run / RESULT)["status"])
    except FileNotFoundError:
        return UNFINISHED
    except (UserError, KeyError):
        return DAMAGED


def _is_old(run: Path) -> bool:
    """Return whether a run was made with code or libraries that differ from the installed versions;
    False if its identity.json cannot be read.
    """
    with suppress(OSError, ValueError, KeyError, AttributeError):
        return outdated(json.loads((run / "identity.json").read_text(encoding="utf-8")))
    return False


def _nearest(path: Path) -> Path:
    """Return a path if it exists, else its nearest parent folder that exists."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())


def look_at_wandb(results: Path) -> Diagnosis:
    """Diagnose W&B: its mode (online, offline, disabled), runs that wait for an upload, and
    environment variables that are invalid or ignored.
    """
    ignored = [name for name in ANOTHER_RUN if name in os.environ]
    try:
        check_environment()
        mode = settle("auto")
    except UserError as error:
        problem, _, advice = str(error).partition("; ")
        return Diagnosis("W&B", "unusable", problem, advice or "correct the variable, or unset it")
    waiting = [path for path in results.glob(f"runs/*/{OFFLINE}") if not is_synced(path)]
    seen = MODES.get(mode, f"{mode} (WANDB_MODE)")
    if waiting:
        seen += f"; {len(waiting)} runs wait for ablate upload {results}"
    if ignored:
        problem = f"{', '.join(ignored)} belong to another run, and are ignored"
        return Diagnosis("W&B", seen, problem, "unset them to be sure")
    return Diagnosis("W&B", seen)

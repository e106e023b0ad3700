"""Check the devices and the matrix library of torch; importing torch takes seconds."""

import os
import re
import shutil

import torch

from ablate.doctor.diagnosis import Diagnosis

BLAS = re.compile(r"BLAS_INFO=(\w+)")
NONE = ("", "generic")  # values of BLAS_INFO if torch has no library for matrix products
REINSTALL = "install a build from pytorch.org for this machine"


def look_at_torch() -> Diagnosis:
    """Diagnose torch: its version, and the libraries with which it multiplies matrices on the
    CPU.
    """
    backends = torch.backends
    fast = [
        name
        for name, there in (
            ("MKL", backends.mkl.is_available()),  # type: ignore[no-untyped-call]
            ("oneDNN", backends.mkldnn.is_available()),  # type: ignore[no-untyped-call]
        )
        if there
    ]
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
        return Diagnosis("devices", ", ".join(f"{torch.cuda.get_device_name(n)}" for n in numbers))
    if torch.backends.mps.is_available():
        return Diagnosis("devices", "CPU, Apple GPU (trainer.accelerator=mps)")
    if shutil.which("nvidia-smi") is None or os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return Diagnosis("devices", "CPU")
    built = torch.version.cuda
    reason = f"built for CUDA {built}" if built else "built without CUDA"
    problem = f"this machine has an NVIDIA driver, but torch, {reason}, sees no GPU"
    advice = "run nvidia-smi; a driver that is too old must be updated" if built else REINSTALL
    return Diagnosis("devices", "CPU", problem, advice)

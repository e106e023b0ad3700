"""Place the runs of a sweep on the GPUs of this machine in turn, several on one GPU on request.

Each GPU has a number of shares, each with an equal part of the memory of the GPU, and of the cores
of this machine. A run on one device takes one share. A run on several devices takes a share of as
many GPUs.
"""

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from omegaconf import DictConfig

from ablate.errors import UserError

MPS = "nvidia-cuda-mps-control"


@dataclass(frozen=True)
class Place:
    """The GPUs and cores of a run.

    Args:
        environment: environment variables that name the GPUs and a running MPS.
        cores: numbers of the cores; empty for all cores.
    """

    environment: dict[str, str]
    cores: list[int]

    def __call__(self) -> None:
        """Restrict this process, in which CUDA must not be in use yet, to the place."""
        os.environ |= self.environment
        if self.cores and hasattr(os, "sched_setaffinity"):  # Linux
            os.sched_setaffinity(0, self.cores)


class Places:
    """The free shares of GPUs, and the free cores.

    Args:
        gpus: the GPUs, as CUDA_VISIBLE_DEVICES names them.
        per_gpu: number of shares of each GPU.
    """

    def __init__(self, gpus: Sequence[str], per_gpu: int) -> None:
        self.free = dict.fromkeys(gpus, per_gpu)
        affinity = getattr(os, "sched_getaffinity", lambda process: ())
        self.cores = sorted(affinity(0))
        self.cores_of_share = len(self.cores) // (len(gpus) * per_gpu)
        self.changed = threading.Condition()

    @contextmanager
    def take(self, devices: int | None) -> Iterator[Place]:
        """Wait until as many GPUs (None: all) have a free share, and take these shares during a
        `with` block.

        GPUs with the most free shares are taken first.
        """
        wanted = min(devices or len(self.free), len(self.free))
        with self.changed:
            self.changed.wait_for(lambda: sum(map(bool, self.free.values())) >= wanted)
            emptiest = sorted(self.free, key=lambda gpu: -self.free[gpu])[:wanted]
            gpus = [gpu for gpu in self.free if gpu in emptiest]  # in the order of their numbers
            cores = [self.cores.pop(0) for _ in range(wanted * self.cores_of_share)]
            self._give(gpus, -1)
        environment = {key: text for key, text in os.environ.items() if key.startswith("CUDA_MPS_")}
        try:
            yield Place({**environment, "CUDA_VISIBLE_DEVICES": ",".join(gpus)}, cores)
        finally:
            with self.changed:
                self.cores += cores
                self._give(gpus, 1)
                self.changed.notify_all()

    def _give(self, gpus: Sequence[str], shares: int) -> None:
        for gpu in gpus:
            self.free[gpu] += shares


def gpus_for(config: DictConfig) -> list[str]:
    """Return the GPUs on which runs with a config can be placed, as CUDA_VISIBLE_DEVICES names
    them; [] if the runs use no GPU of NVIDIA or AMD.
    """
    import torch

    wanted = config.trainer.get("accelerator", "auto")
    count = torch.cuda.device_count() if wanted in ("gpu", "cuda", "auto") else 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    return [gpu.strip() for gpu in visible.split(",")][:count]


def devices_of(config: DictConfig) -> int | None:
    """Return the number of devices of a run; None for all, as `devices=auto` or a list means."""
    devices = config.trainer.get("devices")
    return devices if isinstance(devices, int) and devices > 0 else None


@contextmanager
def mps() -> Iterator[None]:
    """Let processes share GPUs through NVIDIA's Multi-Process Service during a `with` block.

    Raises:
        UserError: the program that controls the service is not installed.
    """
    if shutil.which(MPS) is None:
        raise UserError(
            f"engine.mps=true needs the program {MPS}, which is part of NVIDIA's driver"
        )
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        # the service must see all GPUs, because it would number its own selection anew
        everything = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        subprocess.run([MPS, "-d"], env=everything, check=True)
        try:
            yield
        finally:
            subprocess.run([MPS], env=everything, input="quit\n", text=True, check=False)

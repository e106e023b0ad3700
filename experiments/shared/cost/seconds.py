"""Measure the time of a workload.

Equation: the median over `repeats` of the wall time of one call, without gradient; log2_seconds is
    its logarithm, in which a ratio of times is a difference.
Source: a measurement; the workloads are defined in `works`.
What differs: float32 on the CPU with the threads of the run, after two warm-up calls.
What to expect: other processes add noise: keep the machine idle (n_jobs=1), and compare arms within
    one sweep. `others` is the number of cores that were busy with other processes.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from ablate.config.limits import Count
from ablate.probe import OtherLoad
from experiments.shared.cost.of_work import OfWork, made

WARM_UP = 2


@dataclass(kw_only=True)
class Seconds(OfWork):
    """A probe of the time that a workload takes.

    Args:
        repeats: number of timed calls, whose median time is reported.

    Raises:
        UserError: `repeats` is below 1, or a setting is one that OfWork rejects.
    """

    measures = ("seconds", "log2_seconds", "others")

    repeats: Count

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the time of the workload.

        Returns:
            seconds: median time of a call in seconds.
            log2_seconds: binary logarithm of this time.
            others: number of cores that other processes used. The value is missing if the system
                does not report it.
        """
        work, other_load = made(self.work, self.sizes, self.seed), OtherLoad()
        seconds = median_seconds(work.__call__, self.repeats, warm_up=WARM_UP)
        measurements = {"seconds": seconds, "log2_seconds": math.log2(seconds)}
        cores = other_load.cores()
        return measurements if cores is None else measurements | {"others": cores}


@torch.no_grad()
def median_seconds(work: Callable[[], object], repeats: int, *, warm_up: int) -> float:
    """Return the median time in seconds of `repeats` calls, after some calls for warm-up."""
    times = []
    for _ in range(warm_up + repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times[warm_up:])

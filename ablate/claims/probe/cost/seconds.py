"""How long a work takes.

Equation: the median over `repeats` of the wall time of one call, without gradient; log2_seconds is
    its logarithm, in which a ratio of times is a difference.
Source: a measurement; the works: `works` beside this file.
What differs: float32 on the CPU with the threads of the run; two calls before do not count.
What to expect: noise of other processes: let the machine do nothing else (n_jobs=1), and compare
    arms within one sweep. `others` is the number of cores that were busy with something else.
"""

import math
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from ablate.claims.probe.cost.of_work import OfWork, made
from ablate.config.limits import Count
from ablate.probe.others import OtherLoad

WARM_UP = 2


@dataclass(kw_only=True)
class Seconds(OfWork):
    """Times a work.

    Args:
        repeats: measurements that the median is taken of.

    Raises:
        UserError: `repeats` is below 1, or anything that OfWork refuses.
    """

    measures = ("seconds", "log2_seconds", "others")

    repeats: Count

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the time, its logarithm, and what else the machine did."""
        work, times, others = made(self.work, self.sizes, self.seed), [], OtherLoad()
        with torch.no_grad():
            for _ in range(WARM_UP + self.repeats):
                start = time.perf_counter()
                work()
                times.append(time.perf_counter() - start)
        seconds = median(times[WARM_UP:])
        found = {"seconds": seconds, "log2_seconds": math.log2(seconds)}
        cores = others.cores()
        return found if cores is None else found | {"others": cores}

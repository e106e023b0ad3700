"""What tasks measure that generate nothing: how likely the true tokens are."""

import math

import numpy as np
import torch.distributed
from jaxtyping import Float
from torch import Tensor

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD
from ablate.metric.calibration import Calibration, predictions
from ablate.metric.table import METRICS
from ablate.metric.token_mean import TokenMean
from ablate.model.base import Model
from ablate.search.base import Search
from ablate.task.base import Evaluation, Text

LIKELIHOOD = {
    name: METRICS[name] for name in ("nll", "perplexity", "calibration_error", "accuracy")
}


class Likelihood(Evaluation):
    """The nll of the targets, and exp(nll) as `perplexity`.

    nll: mean over the targets, EOS counted where it is one, natural logarithm, unsmoothed. With
    `thorough` also calibration_error and accuracy of the likeliest token.
    """

    def __init__(self, *, thorough: bool) -> None:
        super().__init__()
        self.nll = TokenMean()
        self.calibration = Calibration()
        self.thorough = thorough
        self.rows: dict[int, tuple[float, int]] = {}

    def update(self, model: Model, batch: Batch, search: Search, text: Text) -> None:
        """Score the targets of a batch; one may have none."""
        real = batch.targets != PAD
        if not real.any():
            return
        found = predictions(model.head, model(batch.inputs)[real], batch.targets[real])
        self.nll.update(found.nll, found.correct.numel())
        if self.thorough:
            self.calibration.update(found.confidence, found.correct)
            sums = real.new_zeros(real.shape, dtype=torch.float64)
            sums[real] = found.each.double()
            self.add(batch.lines, sums.sum(1), real.sum(1))

    def add(self, lines: Tensor, sums: Tensor, counts: Tensor) -> None:
        """Add the nll of some lines, in nats, and how many targets they have.

        Several contexts of a long text may have the number of one line.
        """
        for row in zip(*(x.tolist() for x in (lines, sums, counts)), strict=True):
            _add(self.rows, *row)

    def compute(self) -> dict[str, float]:
        """Reduce over all processes and return every score by name."""
        nll = float(self.nll.compute())
        # beyond about 709 nats, as NaN, perplexity is no number of use
        found = {"nll": nll, "perplexity": math.exp(nll) if nll < 700 else math.inf}
        if self.thorough:
            found |= {name: float(value) for name, value in self.calibration.compute().items()}
        return found

    def statistics(self) -> dict[str, Float[np.ndarray, "n 2"]]:
        """Summed nll in nats and number of targets of every line, in the order of the lines."""
        parts: list[dict[int, tuple[float, int]] | None] = [self.rows]
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            parts = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(parts, self.rows)
        merged: dict[int, tuple[float, int]] = {}
        for part in parts:
            for line, (total, count) in (part or {}).items():
                _add(merged, line, total, count)
        rows = [merged[line] for line in sorted(merged)]
        return {"nll": np.array(rows, dtype=np.float64).reshape(-1, 2)}

    def reset(self) -> None:
        """Forget everything."""
        self.nll.reset()
        self.calibration.reset()
        self.rows = {}


def _add(rows: dict[int, tuple[float, int]], line: int, total: float, count: int) -> None:
    before, earlier = rows.get(line, (0.0, 0))
    rows[line] = before + total, earlier + count

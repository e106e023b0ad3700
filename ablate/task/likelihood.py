"""Evaluate tasks that generate no text by the likelihood of the true tokens."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD
from ablate.metric.calibration import Calibration, predictions
from ablate.metric.table import METRICS
from ablate.metric.token_mean import TokenMean
from ablate.model.base import Model
from ablate.search.base import Search
from ablate.task.base import Evaluation, Text, of_all_processes

LIKELIHOOD = {
    name: METRICS[name] for name in ("nll", "perplexity", "calibration_error", "accuracy")
}


class Likelihood(Evaluation):
    """The negative log-likelihood (nll) of the targets, and exp(nll) as `perplexity`.

    nll is the mean over the targets (natural logarithm, no label smoothing); EOS counts if it is a
    target. With `thorough`, the evaluation also computes the calibration error, and the accuracy of
    the most likely token.
    """

    def __init__(self, *, thorough: bool) -> None:
        super().__init__()
        self.nll = TokenMean()
        self.calibration = Calibration()
        self.thorough = thorough
        self.rows: dict[int, tuple[float, int]] = {}

    def update(self, model: Model, batch: Batch, search: Search, text: Text) -> None:
        """Add the scores of a batch's targets; the batch may have no targets."""
        real = batch.targets != PAD
        if not real.any():
            return
        scores = predictions(model.head, model(batch.inputs)[real], batch.targets[real])
        self.nll.update(scores.nll, scores.correct.numel())
        if self.thorough:
            self.calibration.update(scores.confidence, scores.correct)
            sums = real.new_zeros(real.shape, dtype=torch.float64)
            sums[real] = scores.each.double()
            self.add(batch.lines, sums.sum(1), real.sum(1))

    def add(self, lines: Tensor, sums: Tensor, counts: Tensor) -> None:
        """Add the summed nll and the number of targets of each row to the statistics of its line.

        Args:
            lines: line numbers; contexts of the same stretch of a long text have the same number.
            sums: summed nll of each row, in nats.
            counts: number of targets of each row.
        """
        for row in zip(*(x.tolist() for x in (lines, sums, counts)), strict=True):
            _add(self.rows, *row)

    def compute(self) -> dict[str, float]:
        """Return every score by name, computed from the batches of all processes."""
        nll = float(self.nll.compute())
        # exp overflows beyond about 709 nats
        scores = {"nll": nll, "perplexity": math.exp(nll) if nll < 700 else math.inf}
        if self.thorough:
            scores |= {name: float(value) for name, value in self.calibration.compute().items()}
        return scores

    def statistics(self) -> dict[str, Float[np.ndarray, "n 2"]]:
        """Return the statistics of "nll": one row for each line, in order.

        A row has the summed nll in nats and the number of targets. There are rows only with
        `thorough`.
        """
        merged: dict[int, tuple[float, int]] = {}
        for part in of_all_processes(self.rows):
            for line, (total, count) in part.items():
                _add(merged, line, total, count)
        rows = [merged[line] for line in sorted(merged)]
        return {"nll": np.array(rows, dtype=np.float64).reshape(-1, 2)}

    def reset(self) -> None:
        """Clear all sums, so that another evaluation can begin."""
        self.nll.reset()
        self.calibration.reset()
        self.rows = {}


def _add(rows: dict[int, tuple[float, int]], line: int, total: float, count: int) -> None:
    before, earlier = rows.get(line, (0.0, 0))
    rows[line] = before + total, earlier + count

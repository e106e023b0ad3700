"""Evaluate tasks that generate no text by the likelihood of the true tokens."""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD
from ablate.metric.table import METRICS
from ablate.metric.tokens import Calibration, Predictions, TokenMean, predictions
from ablate.model.base import Model
from ablate.search import Search
from ablate.task.base import Evaluation, Text, of_all_processes

LIKELIHOOD = {
    name: METRICS[name] for name in ("nll", "perplexity", "calibration_error", "accuracy")
}


class TokenScores(Evaluation):
    """The nll of the targets; with `thorough`, also calibration error and accuracy.

    `rows` has the results of each line, by line number.
    """

    def __init__(self, *, thorough: bool) -> None:
        super().__init__()
        self.nll = TokenMean()
        self.calibration = Calibration()
        self.thorough = thorough
        self.rows: dict[int, Any] = {}

    def read(self, scores: Predictions) -> None:
        """Add the nll of predictions of target tokens; with `thorough`, also their calibration."""
        self.nll.update(scores.nll, scores.correct.numel())
        if self.thorough:
            self.calibration.update(scores.confidence, scores.correct)

    def calibrated(self) -> dict[str, float]:
        """Return calibration error and accuracy; {} without `thorough`."""
        scores = self.calibration.compute() if self.thorough else {}
        return {name: float(value) for name, value in scores.items()}

    def reset(self) -> None:
        """Clear all sums, so that another evaluation can begin."""
        super().reset()
        self.rows = {}


class Likelihood(TokenScores):
    """The negative log-likelihood (nll) of the targets, and exp(nll) as `perplexity`.

    nll is the mean over the targets (natural logarithm, no label smoothing); EOS counts if it is a
    target. With `thorough`, the evaluation also computes the calibration error, and the accuracy of
    the most likely token.
    """

    def update(self, model: Model, batch: Batch, search: Search, text: Text) -> None:
        """Add the scores of a batch's targets; the batch may have no targets."""
        real = batch.targets != PAD
        if not real.any():
            return
        scores = predictions(model.head, model(batch.inputs)[real], batch.targets[real])
        self.read(scores)
        if self.thorough:
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
        perplexity = math.exp(nll) if nll < 700 else math.inf
        return {"nll": nll, "perplexity": perplexity, **self.calibrated()}

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


def _add(rows: dict[int, tuple[float, int]], line: int, total: float, count: int) -> None:
    before, earlier = rows.get(line, (0.0, 0))
    rows[line] = before + total, earlier + count

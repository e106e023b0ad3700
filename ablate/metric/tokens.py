"""Metrics of predicted tokens: means, calibration, and metrics derived from other metrics."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torchmetrics import Metric

from ablate.metric import METRICS
from ablate.model.head import Head


class TokenMean(Metric):
    """The mean of a quantity over the tokens of all batches, given each batch's mean and size.

    The result does not depend on the order of batches or the number of devices, because the sums
    are exact in float64. If every batch has a mean of at least 1/32 nat, they are exact up to a
    total of 33 million nats. In general, if every mean is at least 2^-k, they are exact up to a
    total of 2^(30 - k). If a mean is NaN or infinite, so is the result.
    """

    full_state_update = False
    total: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, mean: Float[Tensor, ""], count: int) -> None:
        """Add a batch of `count` tokens; a batch without tokens, whose mean is 0/0, is ignored."""
        if count:
            self.total += mean.detach().double() * count
            self.count += count

    def compute(self) -> Float[Tensor, ""]:
        """Return the mean as float64; NaN if there were no tokens."""
        return self.total / self.count


BINS = 15
# confidences are rounded to 1e-9, so that sums of up to 8 million tokens are exact
QUANTUM = 2.0**30


class Predictions(NamedTuple):
    """The quality of the predictions of N target tokens."""

    nll: Float[Tensor, ""]  # mean
    each: Float[Tensor, " N"]  # nll of each token
    confidence: Float[Tensor, " N"]  # probability of the most likely token
    correct: Bool[Tensor, " N"]  # whether the most likely token is the true token


@torch.no_grad()
def predictions(
    head: Head, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
) -> Predictions:
    """Return the predictions of a head for N target tokens.

    The logits are computed in chunks, so that they are never all in memory.
    """
    parts = []
    for chunk in head.chunks(len(targets)):
        log_p = head(states[chunk]).float().log_softmax(-1)
        true = log_p.gather(1, targets[chunk, None])[:, 0]
        best, token = log_p.max(-1)
        parts.append((-true, best.exp(), token == targets[chunk]))
    nll, confidence, correct = (torch.cat(rows) for rows in zip(*parts, strict=True))
    return Predictions(nll.mean(), nll, confidence, correct)


class Calibration(Metric):
    """Expected calibration error: the difference between confidence and accuracy of the top token.

    Expected calibration error and accuracy of predicted tokens, equal for any number of devices.

    Equation: ECE = sum over bins b of (n_b / n) |accuracy_b - confidence_b|, where the bins divide
        the probability of the most likely token into intervals of equal width.
    Source: arXiv:1706.04599, section 2, equation 3 (Naeini et al. 2015); 15 bins as there.
    What differs: the error is measured on tokens of the references including EOS, each predicted
        from the true preceding tokens (teacher forcing). So it is the calibration of next tokens,
        not of whole translations.
    What to expect: label smoothing lowers the error (from 0.056 to 0.019 on WMT14 en-de,
        arXiv:1906.02629).

    If a confidence is NaN, the error is NaN.
    """

    full_state_update = False
    confidence: Tensor
    correct: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name, dtype in (("confidence", torch.float64), ("correct", torch.int64)):
            self.add_state(name, torch.zeros(BINS, dtype=dtype), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros(BINS, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, confidence: Float[Tensor, " N"], correct: Bool[Tensor, " N"]) -> None:
        """Add predictions of N tokens.

        Args:
            confidence: probability of the most likely token.
            correct: whether the most likely token is the true token.
        """
        bins = (confidence * BINS).long().clamp(0, BINS - 1)
        rounded = (confidence.double() * QUANTUM).round() / QUANTUM
        self.confidence.index_add_(0, bins, rounded)
        self.correct.index_add_(0, bins, correct.long())
        self.count.index_add_(0, bins, torch.ones_like(bins))

    def compute(self) -> dict[str, Tensor]:
        """Return "calibration_error", and "accuracy", which is the fraction of correct tokens.

        Both are NaN if there were no tokens.
        """
        total = self.count.sum().double()
        error = (self.correct - self.confidence).abs().sum() / total
        return {"calibration_error": error, "accuracy": self.correct.sum() / total}


GAPS = ("nll", "bleu", "accuracy")
DRAWN = {"train", "test"}  # splits to which the theoretical values of a corpus apply


def derived(scores: Mapping[str, float], levels: Mapping[str, float]) -> dict[str, float]:
    """Compute metrics from other metrics: skill above chance, and the gap between train and test.

    Return derived metrics by name, such as "test/skill" and "gap/nll".

    Equation: skill = (accuracy - chance) / (bound - chance), where chance and bound are the
        accuracies of guessing and of a perfect model on the corpus. gap = the difference by which a
        metric is worse on test than on train.
    Source: Cohen 1960, doi:10.1177/001316446002000104 (agreement beyond chance); the generalisation
        gap of arXiv:1611.03530.
    What differs: chance is the best accuracy of a model that has not learned the task, as the
        corpus defines it. The bound may be below 1. Both splits are evaluated without dropout, with
        the last weights.
    What to expect: tokens that are trivial to predict, such as EOS, do not contribute to skill. A
        skill of 0 means that nothing was learned, and 1 that the task is solved.

    Skill needs the theoretical values of the corpus. A gap needs the metric on both train and test.

    Args:
        scores: values by split and metric, such as "test/nll".
        levels: theoretical values of the corpus, such as "chance/accuracy"; {} if unknown.
    """
    metrics = {}
    if levels:
        chance, bound = (levels[f"{level}/accuracy"] for level in ("chance", "bound"))
        room = bound > chance  # false for random targets, on which no skill is possible
        for split in _splits(scores, "accuracy") & DRAWN if room else ():
            metrics[f"{split}/skill"] = (scores[f"{split}/accuracy"] - chance) / (bound - chance)
    for name in GAPS:
        if {"train", "test"} <= _splits(scores, name):
            sign = 1 if METRICS[name].better == "higher" else -1
            metrics[f"gap/{name}"] = sign * (scores[f"train/{name}"] - scores[f"test/{name}"])
    return metrics


def derived_names(scores: Iterable[str]) -> set[str]:
    """Return the names of all metrics that `derived` can compute from scores with these names."""
    ones = dict.fromkeys(scores, 0.0)
    return set(derived(ones, {"chance/accuracy": 0.0, "bound/accuracy": 1.0}))


def _splits(scores: Iterable[str], name: str) -> set[str]:
    return {split for split, _, last in (key.rpartition("/") for key in scores) if last == name}

"""Compute scores of translations from integers that are summed over sentences and processes."""

from abc import abstractmethod

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric


class CorpusScore(Metric):
    """A score of all sentences added so far, equal for any number of devices.

    `signature` describes how the score is computed; report it with every score.

    Args:
        width: number of integers for each sentence.
    """

    full_state_update = False
    higher_is_better = True
    signature: str
    sums: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.add_state("sums", torch.zeros(width, dtype=torch.int64), dist_reduce_fx="sum")

    @abstractmethod
    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return the integers of a sentence, whose sums over all sentences determine the score."""

    @abstractmethod
    def score(self, sums: Int[np.ndarray, " k"]) -> float:
        """Return the score, given the sums of the rows of all sentences."""

    def statistics(self, hypotheses: list[str], references: list[str]) -> Int[np.ndarray, "n k"]:
        """Return the row of each sentence.

        Raises:
            ValueError: the numbers of references and hypotheses differ.
        """
        rows = [self.row(*pair) for pair in zip(hypotheses, references, strict=True)]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self.sums))

    def update(self, rows: Int[np.ndarray, "n k"]) -> None:
        """Add the rows that `statistics` returned for some sentences."""
        self.sums += torch.from_numpy(rows.sum(0)).to(self.sums.device)

    def compute(self) -> Float[Tensor, ""]:
        """Return the score as float64."""
        score = self.score(self.sums.cpu().numpy())
        return torch.tensor(score, dtype=torch.float64, device=self.sums.device)

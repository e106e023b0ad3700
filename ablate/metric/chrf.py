"""Corpus chrF, counted by sacreBLEU and summed over batches and processes.

Equation: chrF = 100 (1 + b^2) P R / (b^2 P + R), b = 2; P and R are the precision and the recall of
character n-grams, n = 1 to 6, each averaged over the orders.
Source: Popovic 2015, ACL W15-3049; sacreBLEU, arXiv:1804.08771. Raw text, letter case kept.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor
from torchmetrics import Metric

# For each of the six orders: n-grams of the hypothesis, of the reference, matches.
WIDTH = 18


def _statistics(chrf: CHRF, hypotheses: list[str], references: list[str]) -> list[list[int]]:
    # No public call of sacreBLEU gives these counts; both private ones are used here only, and
    # tests/metric/test_chrf.py fails when they no longer add up to its score.
    rows: list[list[int]] = chrf._extract_corpus_statistics(hypotheses, [references])
    return rows


def _score(chrf: CHRF, sums: list[int]) -> float:
    return float(chrf._compute_score_from_stats(sums).score)


class CorpusChrf(Metric):
    """chrF of all sentences seen so far, equal to sacreBLEU's on any number of devices.

    `signature` is sacreBLEU's own string; quote it with every score.
    """

    full_state_update = False
    higher_is_better = True
    sums: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.chrf = CHRF()
        self.chrf.corpus_score(["a"], [["a"]])  # the signature exists only after this
        self.signature = str(self.chrf.get_signature())
        self.add_state("sums", torch.zeros(WIDTH, dtype=torch.int64), dist_reduce_fx="sum")

    def statistics(self, hypotheses: list[str], references: list[str]) -> Int[np.ndarray, "n 18"]:
        """Return one row of sufficient statistics per sentence.

        Raises:
            ValueError: there are not as many references as hypotheses.
        """
        pairs = zip(hypotheses, references, strict=True)
        rows = [_statistics(self.chrf, [hyp], [ref])[0] for hyp, ref in pairs]
        return np.array(rows, dtype=np.int64).reshape(-1, WIDTH)

    def update(self, rows: Int[np.ndarray, "n 18"]) -> None:
        """Add the `statistics` of sentences."""
        self.sums += torch.from_numpy(rows.sum(0)).to(self.sums.device)

    def compute(self) -> Float[Tensor, ""]:
        """Return the score, 0 to 100, as float64."""
        score = _score(self.chrf, self.sums.tolist())
        return torch.tensor(score, dtype=torch.float64, device=self.sums.device)

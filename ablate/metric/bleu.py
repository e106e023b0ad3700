"""Corpus BLEU, counted by sacreBLEU and summed over batches and processes.

Equation: BLEU = 100 exp(min(0, 1 - r/c)) (p_1 p_2 p_3 p_4)^(1/4), p_n the share of the n-grams of
the hypotheses that are found in their references, r and c the lengths of both sides. The k-th
order without any match counts as p_n = 1 / (2^k total_n) (sacreBLEU's smoothing `exp`).
Source: Papineni et al. 2002, ACL P02-1040; sacreBLEU, arXiv:1804.08771.
Ten integers per sentence are all that the score needs; they are added up exactly, in any order.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor
from torchmetrics import Metric

from ablate.errors import UserError
from ablate.metric.scoring import Scoring

# Columns of a row of statistics: sys_len, ref_len, 4 counts of matches, 4 totals.
WIDTH = 10
SMOOTHING = "exp"
NEEDS = {  # of tokenisers that sacreBLEU has no rules for itself
    "ja-mecab": "pip install 'sacrebleu[ja]'",
    "ko-mecab": "pip install 'sacrebleu[ko]'",
    "flores200": "pip install sentencepiece (its model is downloaded once)",
}


def bleu_from_statistics(sums: Int[np.ndarray, "10"]) -> float:
    """Return the BLEU (0 to 100) of statistics summed over sentences, by sacreBLEU's own code."""
    sys_len, ref_len, *rest = (int(value) for value in sums)
    score = BLEU.compute_bleu(rest[:4], rest[4:], sys_len, ref_len, smooth_method=SMOOTHING)
    return float(score.score)


def bleu_of_resamples(sums: Int[np.ndarray, "R 10"]) -> Float[np.ndarray, " R"]:
    """Return `bleu_from_statistics` of every row at once, equal to rounding (1e-9).

    For bootstrap intervals, where a loop over thousands of rows would take most of the time.
    """
    sys_len, ref_len = sums[:, 0], sums[:, 1]
    counts, totals = sums[:, 2:6], sums[:, 6:]
    halvings = (counts == 0).cumsum(1)
    matches = np.where(counts > 0, counts, 0.5**halvings)
    log_precision = np.log(matches / np.maximum(totals, 1)).mean(1)
    log_brevity = np.minimum(0.0, 1.0 - ref_len / np.maximum(sys_len, 1))
    scored = counts.any(1) & totals.all(1)
    return np.where(scored, 100.0 * np.exp(log_brevity + log_precision), 0.0)


def _counter(tokenize: str) -> BLEU:
    """Return sacreBLEU's counter; it gives its signature only after it has scored something."""
    try:
        # force: no warning about text that is tokenised already
        bleu = BLEU(tokenize=tokenize, force=True, smooth_method=SMOOTHING)
        bleu.corpus_score(["a"], [["a"]])
    except Exception as error:  # a package, a dictionary or a model that is not there
        cure = NEEDS.get(tokenize, "")
        said = cure or next(filter(None, str(error).splitlines()), type(error).__name__)
        raise UserError(
            f"BLEU by {tokenize} cannot be counted: {said}; or say task.tokenize=char"
        ) from None
    return bleu


class CorpusBleu(Metric):
    """BLEU of all sentences seen so far, equal to sacreBLEU's to the last bit on any device count.

    `signature` is sacreBLEU's own string, with what the scoring did; quote it with every score.

    Raises:
        UserError: the tokeniser of the scoring is not installed.
    """

    full_state_update = False
    higher_is_better = True
    sums: Tensor

    def __init__(self, scoring: Scoring):
        super().__init__()
        self.scoring = scoring
        self.bleu = _counter(scoring.tokenize)
        self.signature = scoring.sign(str(self.bleu.get_signature()))
        self.add_state("sums", torch.zeros(WIDTH, dtype=torch.int64), dist_reduce_fx="sum")

    def statistics(self, hypotheses: list[str], references: list[str]) -> Int[np.ndarray, "n 10"]:
        """Return one row of sufficient statistics per sentence.

        Raises:
            ValueError: there are not as many references as hypotheses.
        """
        pairs = zip(hypotheses, references, strict=True)
        rows = [self._row(hypothesis, reference) for hypothesis, reference in pairs]
        return np.array(rows, dtype=np.int64).reshape(-1, WIDTH)

    def _row(self, hypothesis: str, reference: str) -> list[int]:
        prepare = self.scoring.prepare
        one = self.bleu.corpus_score([prepare(hypothesis)], [[prepare(reference)]])
        return [one.sys_len, one.ref_len, *one.counts, *one.totals]

    def update(self, rows: Int[np.ndarray, "n 10"]) -> None:
        """Add the `statistics` of sentences."""
        self.sums += torch.from_numpy(rows.sum(0)).to(self.sums.device)

    def compute(self) -> Float[Tensor, ""]:
        """Return the score, 0 to 100, as float64."""
        score = bleu_from_statistics(self.sums.cpu().numpy())
        return torch.tensor(score, dtype=torch.float64, device=self.sums.device)

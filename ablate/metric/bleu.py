"""Compute corpus BLEU from sacreBLEU's n-gram counts, summed over batches and processes.

Equation: BLEU = 100 exp(min(0, 1 - r/c)) (p_1 p_2 p_3 p_4)^(1/4), p_n the fraction of the
    hypotheses' n-grams that occur in their references, and r and c the numbers of tokens of
    references and hypotheses. The k-th order without any match counts as p_n = 1 / (2^k total_n)
    (sacreBLEU's smoothing `exp`).
Source: Papineni et al. 2002, ACL P02-1040; sacreBLEU, arXiv:1804.08771. The score needs only ten
    integers per sentence, which can be summed exactly in any order.
"""

import numpy as np
from jaxtyping import Float, Int
from sacrebleu.metrics.bleu import BLEU

from ablate.errors import UserError
from ablate.metric.corpus_score import CorpusScore
from ablate.metric.scoring import Scoring

# Columns of a row of statistics: sys_len, ref_len, 4 counts of matches, 4 totals.
WIDTH = 10
SMOOTHING = "exp"
NEEDS = {  # installation of tokenisers that sacreBLEU does not include
    "ja-mecab": "pip install 'sacrebleu[ja]'",
    "ko-mecab": "pip install 'sacrebleu[ko]'",
    "flores200": "pip install sentencepiece (its model is downloaded once)",
}


def bleu_from_statistics(sums: Int[np.ndarray, "10"]) -> float:
    """Return BLEU (0 to 100), computed by sacreBLEU from statistics summed over sentences."""
    sys_len, ref_len, *rest = (int(value) for value in sums)
    score = BLEU.compute_bleu(rest[:4], rest[4:], sys_len, ref_len, smooth_method=SMOOTHING)
    return float(score.score)


def bleu_of_resamples(sums: Int[np.ndarray, "R 10"]) -> Float[np.ndarray, " R"]:
    """Return the BLEU of each row of summed statistics, such as those of bootstrap resamples.

    The result equals `bleu_from_statistics` of each row up to rounding (1e-9); a loop over
    thousands of rows would be too slow.
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
    """Return a BLEU object of sacreBLEU that has a signature.

    sacreBLEU sets the signature only after it has scored a sentence, so a sentence is scored first.
    """
    try:
        # force: suppresses the warning about tokenised text
        bleu = BLEU(tokenize=tokenize, force=True, smooth_method=SMOOTHING)
        bleu.corpus_score(["a"], [["a"]])
    except Exception as error:  # a missing package, dictionary or model
        cure = NEEDS.get(tokenize, "")
        remedy = cure or next(filter(None, str(error).splitlines()), type(error).__name__)
        raise UserError(
            f"BLEU by {tokenize} cannot be computed: {remedy}; or set task.tokenize=char"
        ) from None
    return bleu


class CorpusBleu(CorpusScore):
    """BLEU of all sentences added so far, equal to sacreBLEU's for any number of devices.

    `signature` is sacreBLEU's signature, including the preparation of the text.

    Raises:
        UserError: the required tokeniser is not installed.
    """

    def __init__(self, scoring: Scoring):
        super().__init__(WIDTH)
        self.scoring = scoring
        self.bleu = _counter(scoring.tokenize)
        self.signature = scoring.sign(str(self.bleu.get_signature()))

    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return the ten sufficient statistics of BLEU for a sentence."""
        prepare = self.scoring.prepare
        score = self.bleu.corpus_score([prepare(hypothesis)], [[prepare(reference)]])
        return [score.sys_len, score.ref_len, *score.counts, *score.totals]

    def score(self, sums: Int[np.ndarray, "10"]) -> float:
        """Return BLEU, 0 to 100."""
        return bleu_from_statistics(sums)

"""Compute corpus chrF from sacreBLEU's character n-grams, summed over batches and processes.

Equation: chrF = 100 (1 + b^2) P R / (b^2 P + R), b = 2; P and R are the precision and the recall of
character n-grams, n = 1 to 6, each averaged over the orders.
Source: Popovic 2015, ACL W15-3049; sacreBLEU, arXiv:1804.08771. The score is of raw text, with
    letter case.
"""

import numpy as np
from jaxtyping import Int
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.helpers import extract_all_char_ngrams

from ablate.metric.corpus_score import CorpusScore

ORDERS = CHRF.CHAR_ORDER
WIDTH = 3 * ORDERS  # for each order: n-grams of the hypothesis, of the reference, and in common


class CorpusChrf(CorpusScore):
    """chrF of all sentences added so far, equal to sacreBLEU's for any number of devices.

    `signature` is sacreBLEU's signature.
    """

    def __init__(self) -> None:
        super().__init__(WIDTH)
        chrf = CHRF()
        chrf.corpus_score(["a"], [["a"]])  # the signature is available only after scoring
        self.signature = str(chrf.get_signature())

    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return three counts for each order n of character n-grams.

        The counts are the n-grams of the hypothesis, of the reference, and in common. As in
        sacreBLEU, n-grams of the hypothesis count only if the reference has n-grams of the same
        order.
        """
        pairs = (extract_all_char_ngrams(line, ORDERS) for line in (hypothesis, reference))
        return [
            number
            for ours, theirs in zip(*pairs, strict=True)
            for number in (ours.total() if theirs else 0, theirs.total(), (ours & theirs).total())
        ]

    def score(self, sums: Int[np.ndarray, "18"]) -> float:
        """Return chrF, 0 to 100.

        Orders for which the hypotheses or the references have no n-grams are left out of the means.
        """
        orders = sums.reshape(-1, 3).tolist()
        used = [(hyp, ref, both) for hyp, ref, both in orders if hyp > 0 and ref > 0]
        if not any(both for _, _, both in used):
            return 0.0
        precision = recall = 0.0
        for hyp, ref, both in used:  # as in sacreBLEU; `sum` of Python 3.12 rounds differently
            precision += both / hyp
            recall += both / ref
        precision /= len(used)
        recall /= len(used)
        factor = CHRF.BETA**2
        return 100 * ((1 + factor) * precision * recall / (factor * precision + recall))

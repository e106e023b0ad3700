"""Metrics of a split: their interface, and the fraction of exact matches."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class SplitMetric(ABC):
    """Computes a score of the translations of a test split; an option of `metric`.

    In the results of a run, the score on the test split is called test/NAME, where NAME is the key
    of this metric under `metric` in the config. Claims can use this score like any other metric,
    with intervals over seeds. A metric is also called once before training, with the references as
    hypotheses, and must keep no state between calls.
    """

    @abstractmethod
    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the score of a whole split.

        Line i of all three arguments belongs to the same sentence.
        """


class ExactMatch(SplitMetric):
    """Compute the fraction of translations that equal their reference.

    The fraction of translations that equal their reference, 0 to 1.

    Equation: (1 / n) sum_i [hypothesis_i = reference_i], ignoring surrounding spaces.
    Source: arXiv:1606.05250, section 6 (exact match of answers).
    What differs: letter case and punctuation count.
    What to expect: near 0 on free text; on synthetic corpora, the fraction of solved sentences.
    """

    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the fraction of translations that equal their reference; 0 without lines."""
        pairs = zip(hypotheses, references, strict=True)
        return sum(hypothesis.strip() == other.strip() for hypothesis, other in pairs) / max(
            1, len(references)
        )

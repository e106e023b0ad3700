"""Compute the fraction of translations that equal their reference.

Equation: (1 / n) sum_i [hypothesis_i = reference_i], ignoring surrounding spaces.
Source: arXiv:1606.05250, section 6 (exact match of answers).
What differs: letter case and punctuation count.
What to expect: near 0 on free text; on synthetic corpora, the fraction of solved sentences.
"""

from collections.abc import Sequence

from ablate.metric.base import SplitMetric


class ExactMatch(SplitMetric):
    """The fraction of translations that equal their reference, 0 to 1."""

    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the fraction of translations that equal their reference; 0 without lines."""
        pairs = zip(hypotheses, references, strict=True)
        return sum(hypothesis.strip() == other.strip() for hypothesis, other in pairs) / max(
            1, len(references)
        )

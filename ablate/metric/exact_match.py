"""The share of translations that are their reference, word for word.

Equation: (1 / n) sum_i [hypothesis_i = reference_i], spaces at both ends aside.
Source: arXiv:1606.05250, section 6 (exact match of answers).
What differs: letter case and punctuation count.
What to expect: near 0 on free text; on corpora made by a rule the share of sentences solved.
"""

from collections.abc import Sequence

from ablate.metric.base import SplitMetric


class ExactMatch(SplitMetric):
    """0 to 1."""

    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the share of lines that are alike; 0 without any."""
        pairs = zip(hypotheses, references, strict=True)
        return sum(one.strip() == other.strip() for one, other in pairs) / max(1, len(references))

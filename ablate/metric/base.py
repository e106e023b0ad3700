"""The seam of metrics of one's own: a number for the translations of a split."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class SplitMetric(ABC):
    """Scores what was translated, once per tested split; a level of `metric`.

    The name of its node below `metric` is that of the metric: test/NAME of the split test. Claims
    judge it as any other, with intervals over seeds. A metric is called once before training as
    well, with the references as hypotheses, and must keep nothing from one call to the next.
    """

    @abstractmethod
    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the score of a whole split; line i of all three belongs together."""

"""The interface of the user's metrics: a number for the translations of a split."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class SplitMetric(ABC):
    """Score the translations of a tested split; an option of `metric`.

    The name of its node below `metric` is the name of the metric: test/NAME for the split test.
    Claims can use it like any other metric, with intervals over seeds. A metric is also called once
    before training, with the references as hypotheses, and must keep no state between calls.
    """

    @abstractmethod
    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the score of a whole split; line i of all three arguments belongs to the same
        sentence.
        """

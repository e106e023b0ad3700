"""The interface of metrics that users add: each is a number for the translations of a split."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class SplitMetric(ABC):
    """Computes a score of the translations of a test split; an option of `metric`.

    A metric's key in the config below `metric` is its name: its score on the split test is
    test/NAME. Claims can use the metric like any other, with intervals over seeds. A metric is also
    called once before training, with the references as hypotheses, and must keep no state between
    calls.
    """

    @abstractmethod
    def __call__(
        self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
    ) -> float:
        """Return the score of a whole split; line i of all three arguments belongs to the same
        sentence.
        """

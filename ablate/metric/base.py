"""The interface of metrics that users add: each is a number for the translations of a split."""

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

"""The interface of tasks: what a model reads, what it predicts, and how its
predictions are scored.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Num
from torch import Tensor, nn

from ablate.data.batch import Batch, Draw, Ids
from ablate.data.documents import TextLength
from ablate.data.tokenizer import Tokenizers
from ablate.metric.table import Metric
from ablate.model.base import Model
from ablate.search.base import Search


class Text(NamedTuple):
    """The texts of a split, as an evaluation needs them."""

    tokenizers: Tokenizers
    languages: tuple[str, str]
    references: Sequence[str]  # raw target lines
    length: TextLength | None  # size of the targets; None if only a part of them is scored


class Evaluation(nn.Module, ABC):
    """Scores a split batch by batch; the result does not depend on the number of devices."""

    @abstractmethod
    def update(self, model: Model, batch: Batch, search: Search, text: Text) -> None:
        """Score a batch, which is not empty; a task that generates text uses `search`."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """Reduce over all processes and return every score by name; "nll" is among the names."""

    @abstractmethod
    def reset(self) -> None:
        """Clear all sums."""

    def begin(self, text: Text) -> None:  # noqa: B027
        """Store the texts of the split; called before its first batch."""

    def doubt(self, references: Sequence[str]) -> str:
        """Return the reason why a score on these references would be meaningless, or ""."""
        return ""

    def signatures(self) -> dict[str, str]:
        """Return for each score that needs one a signature: the settings to
        quote with the score.
        """
        return {}

    def hypotheses(self) -> list[str]:
        """Return the generated texts in the order of the lines; empty if the
        task generates none.
        """
        return []

    def statistics(self) -> dict[str, Num[np.ndarray, "n K"]]:
        """Return for each score the statistics of single lines that it is computed
        from, in line order.
        """
        return {}


class Task(ABC):
    """A learning task on a corpus; an option of the factor `task`.

    Attributes:
        inputs: type of `Batch.inputs`; the model must accept it.
        generates: whether evaluations generate text by search.
        packs: whether the task can train on contexts of a fixed length.
        writes: whether a model trained on it can continue a text.
        scores_all: whether all targets except padding are scored.
        metrics: metrics of its evaluations by name; validation has only those whose split is "val".
    """

    inputs: type
    generates: ClassVar[bool] = False
    packs: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    scores_all: ClassVar[bool] = True
    metrics: ClassVar[Mapping[str, Metric]]

    def begin(self, tokenizers: Tokenizers) -> None:  # noqa: B027
        """Store the vocabularies; called before the first batch.

        Raises:
            UserError: they do not fit the task.
        """

    @abstractmethod
    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return the batch of some lines of a corpus.

        Args:
            src: token ids of the sources, each ended by EOS and padded with PAD.
            tgt: token ids of the targets; a corpus of single texts has all of them here.
            lines: line numbers in the split.
            draw: returns a random generator for a line, the same on any device and after a
                resumption; in evaluation always that of epoch 0.
        """

    def pack(self, contexts: Ids, stretches: Int[np.ndarray, " B"]) -> Batch:
        """Return the batch of some contexts; only called if `packs` is true.

        Args:
            contexts: token ids; each row starts with the token before the context, and PAD follows
                the end of the text.
            stretches: numbers of the parts of the split to which the scores of these contexts are
                added.
        """
        raise NotImplementedError

    def inputs_of(self, tokens: Int[Tensor, "B L"]) -> Any:
        """Return the inputs with which a model continues texts; only called if `writes` is true.

        Each row is a text, or a context of several texts separated by EOS.
        """
        raise NotImplementedError

    def read(self, model: Model, inputs: Any) -> Any:
        """Return the inputs that the model reads in training; by default those of the batch."""
        return inputs

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return the longest source and target that a model reads, given those of the corpus."""
        return src, tgt

    @abstractmethod
    def evaluation(self, language: str, *, thorough: bool) -> Evaluation:
        """Return the evaluation of a split; `thorough` in tests. `language` is
        that of the targets.
        """


def shifted(ids: Ids, *, start: int, end: int, pad: int) -> Ids:
    """Return ids one step later: each row begins with `start`, and its `end` is removed."""
    later = np.roll(ids, 1, axis=1)
    later[later == end] = pad
    later[:, 0] = start
    return later


def tensors(*arrays: Any) -> list[Tensor]:
    """Return numpy arrays as tensors, copied if they are not contiguous."""
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]

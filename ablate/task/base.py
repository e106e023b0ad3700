"""The seam of tasks: what a model reads, what it predicts, and how that is measured."""

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
    """What an evaluation needs of the text of a split."""

    tokenizers: Tokenizers
    languages: tuple[str, str]
    references: Sequence[str]  # raw target lines
    length: TextLength | None  # of the targets; None where a part of them is not scored


class Evaluation(nn.Module, ABC):
    """Collects a split batch by batch; the numbers do not depend on the number of devices."""

    @abstractmethod
    def update(self, model: Model, batch: Batch, search: Search, text: Text) -> None:
        """Add a batch, which is not empty; a task that generates does so by `search`."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """Reduce over all processes and return every score by name; `nll` is among them."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    def begin(self, text: Text) -> None:  # noqa: B027
        """Take note of the text of the split, before its first batch."""

    def doubt(self, references: Sequence[str]) -> str:
        """Say why a score on these references would mean nothing; "" where it may."""
        return ""

    def signatures(self) -> dict[str, str]:
        """Return how scores were computed, by name, where that has to be quoted with them."""
        return {}

    def hypotheses(self) -> list[str]:
        """Return what was generated, in the order of the lines; empty if nothing is."""
        return []

    def statistics(self) -> dict[str, Num[np.ndarray, "n K"]]:
        """Return what the scores of single lines are made of, by name, in the lines' order."""
        return {}


class Task(ABC):
    """What is learned from a corpus; a level of `task`.

    `inputs` is the type that `Batch.inputs` has, which the model must be able to take; `generates`
    says whether evaluations search, `packs` whether the task can read contexts of a fixed length,
    `writes` whether a model can continue a text, `scores_all` whether all targets but padding are
    scored, and `metrics` what evaluations measure by name, in validation only those whose split is
    "val".
    """

    inputs: type
    generates: ClassVar[bool] = False
    packs: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    scores_all: ClassVar[bool] = True
    metrics: ClassVar[Mapping[str, Metric]]

    def begin(self, tokenizers: Tokenizers) -> None:  # noqa: B027
        """Take note of the vocabularies, before the first batch.

        Raises:
            UserError: they do not fit the task.
        """

    @abstractmethod
    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return the batch of some lines of a corpus.

        Args:
            src: ids of the sources, each ended by EOS and filled up with PAD.
            tgt: the same of the targets; a corpus of single texts has all of them here.
            lines: their numbers in the split.
            draw: gives random numbers for a line, the same on any device and after a resumption;
                in evaluation those of epoch 0.
        """

    def pack(self, contexts: Ids, stretches: Int[np.ndarray, " B"]) -> Batch:
        """Return the batch of some contexts; only a task that `packs` is asked for it.

        Args:
            contexts: ids, in front of each context the token before it; PAD behind the text.
            stretches: numbers of the parts of the split that they are scored with.
        """
        raise NotImplementedError

    def inputs_of(self, tokens: Int[Tensor, "B L"]) -> Any:
        """Return the inputs by which a model continues texts; only a task that `writes` has them.

        Each row is one text, or a context of several with an EOS between them.
        """
        raise NotImplementedError

    def read(self, model: Model, inputs: Any) -> Any:
        """Return what the model reads of a training batch instead of its inputs."""
        return inputs

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return the longest source and target that a model reads where the corpus has these."""
        return src, tgt

    @abstractmethod
    def evaluation(self, language: str, *, thorough: bool) -> Evaluation:
        """Return what measures a split, `thorough` in tests; `language` is that of the targets."""


def shifted(ids: Ids, *, start: int, end: int, pad: int) -> Ids:
    """Return ids one step later: `start` before them, and no `end`."""
    later = np.roll(ids, 1, axis=1)
    later[later == end] = pad
    later[:, 0] = start
    return later


def tensors(*arrays: Any) -> list[Tensor]:
    """Return numpy arrays as tensors; arrays of which others hold a view are copied."""
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]

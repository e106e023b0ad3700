"""The interface of embeddings, which also own the output projection's matrix."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.laws import Law


class Embedding(nn.Module, ABC):
    """Maps tokens to vectors, and owns the matrix that maps hidden states to logits.

    Built as `embedding(d_model=, src_vocab=, tgt_vocab=, joint_vocab=)`. If the task has no source,
    `src_vocab` is 0 and `embed_src` is never called, so there is no separate matrix for the source.
    PAD has an ordinary row in the matrix, so that a model without padding masks can read padding.
    The output projection has no bias.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def embed_src(self, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the vectors of source tokens."""

    @abstractmethod
    def embed_tgt(self, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Return the vectors of target tokens."""

    @abstractmethod
    def output_weight(self) -> Float[Tensor, "V D"]:
        """Return the matrix of the output projection, which maps a hidden state to logits."""

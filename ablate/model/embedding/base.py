"""The interface of embeddings and the output projection, which may share their matrices."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.laws import Law


class Embedding(nn.Module, ABC):
    """Maps tokens of both sides to vectors, and owns the matrix that maps states to logits.

    Built as `embedding(d_model=, src_vocab=, tgt_vocab=, joint_vocab=)`. PAD has an ordinary row,
    so that a model without padding masks can see it; the projection has no bias.
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
        """Return the matrix of the output projection: its products with a state are the logits."""

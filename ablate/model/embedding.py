"""The interface and the options of embeddings, which also own the output projection's matrix."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.model import Law


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


class Table(nn.Module):
    """An embedding matrix with a row per token.

    Initial values are normal with standard deviation d_model^-0.5.

    Args:
        vocab: number of rows.
        d_model: width.
        scaled: multiply looked-up rows by sqrt(d_model), which gives them unit variance.
    """

    def __init__(self, vocab: int, d_model: int, *, scaled: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.scale = d_model**0.5 if scaled else 1.0
        self.draw_initial_values(self.weight, None)

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Fill the embedding matrix with random values in place."""
        nn.init.normal_(parameter, std=parameter.size(1) ** -0.5, generator=generator)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L D"]:
        """Return the rows of the matrix that belong to the tokens, multiplied by `scale`.

        `scale` is sqrt(d_model) if `scaled` is true, else 1; model/parametrisation may change it.
        """
        rows = F.embedding(tokens, self.weight)
        return rows if self.scale == 1 else rows * self.scale


class TiedTarget(Embedding):
    """Target embedding and output projection share one matrix.

    An embedding with one matrix for the source, and another for target and output projection.

    Equation: x = scale E_src[src], y = scale E_tgt[tgt], logits = E_tgt h; scale sqrt(d_model) or
        1.
    Source: arXiv:1608.05859, section 3 ("weight tying").
    What differs: the output has no bias.
    What to expect: fewer parameters, the same or a better BLEU than separate matrices.
    """

    def __init__(
        self, *, d_model: int, src_vocab: int, tgt_vocab: int, joint_vocab: bool, scaled: bool
    ) -> None:
        super().__init__()
        if src_vocab:
            self.src = Table(src_vocab, d_model, scaled=scaled)
        self.tgt = Table(tgt_vocab, d_model, scaled=scaled)

    def embed_src(self, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the vectors of source tokens."""
        return self.src(src)

    def embed_tgt(self, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Return the vectors of target tokens."""
        return self.tgt(tgt_in)

    def output_weight(self) -> Float[Tensor, "V D"]:
        """Return the matrix of the output projection."""
        return self.tgt.weight


class TiedAll(TiedTarget):
    """A single matrix for source embedding, target embedding and output projection.

    This is called three-way tying.

    Equation: x = scale E[src], y = scale E[tgt], logits = E h; scale sqrt(d_model) or 1.
    Source: arXiv:1706.03762, section 3.4; arXiv:1608.05859, section 4.
    What differs: the output has no bias.
    What to expect: the fewest parameters of this factor; suited to languages that share subwords.

    Raises:
        UserError: source and target do not share one vocabulary.
    """

    def __init__(
        self, *, d_model: int, src_vocab: int, tgt_vocab: int, joint_vocab: bool, scaled: bool
    ) -> None:
        if not joint_vocab:
            raise UserError(
                "model/embedding=tied_all needs one joint vocabulary, and tokenizer makes two: "
                "choose a joint tokenizer, or model/embedding=tied_target or separate"
            )
        # the table is named `tgt`, so that all options start from the same initial values
        super().__init__(
            d_model=d_model, src_vocab=0, tgt_vocab=tgt_vocab, joint_vocab=True, scaled=scaled
        )

    def embed_src(self, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the vectors of source tokens."""
        return self.tgt(src)


class Separate(TiedTarget):
    """Separate matrices for source embedding, target embedding and output projection.

    An embedding with separate matrices for source, target and output projection.

    Equation: x = scale E_src[src], y = scale E_tgt[tgt], logits = W h; the scale is sqrt(d_model)
        or 1.
    Source: arXiv:1706.03762, section 3.4, without its shared matrix.
    What differs: no matrix is shared. W has no bias, so that the options of this factor differ only
        in the sharing.
    What to expect: more parameters, and with little data a slightly lower BLEU than tied matrices.
    """

    def __init__(
        self, *, d_model: int, src_vocab: int, tgt_vocab: int, joint_vocab: bool, scaled: bool
    ) -> None:
        super().__init__(
            d_model=d_model,
            src_vocab=src_vocab,
            tgt_vocab=tgt_vocab,
            joint_vocab=joint_vocab,
            scaled=scaled,
        )
        self.output = nn.Linear(d_model, tgt_vocab, bias=False)

    def output_weight(self) -> Float[Tensor, "V D"]:
        """Return the matrix of the output projection."""
        return self.output.weight

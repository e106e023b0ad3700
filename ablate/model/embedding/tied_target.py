"""Target embedding and output projection share one matrix.

Equation: x = scale E_src[src], y = scale E_tgt[tgt], logits = E_tgt h; scale sqrt(d_model) or 1.
Source: arXiv:1608.05859, section 3 ("weight tying").
What differs: the output has no bias.
What to expect: fewer parameters, the same or a better BLEU than separate matrices.
"""

from jaxtyping import Float, Int
from torch import Tensor

from ablate.model.embedding.base import Embedding
from ablate.model.embedding.table import Table


class TiedTarget(Embedding):
    """An embedding with one matrix for the source, and another for target and output projection."""

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

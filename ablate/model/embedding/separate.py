"""Separate matrices for source embedding, target embedding and output projection.

Equation: x = scale E_src[src], y = scale E_tgt[tgt], logits = W h; the scale is sqrt(d_model) or 1.
Source: arXiv:1706.03762, section 3.4, without its shared matrix. What differs: no matrix is shared.
    W has no bias, so that the options of this factor differ only in the sharing. What to expect:
    more parameters, and with little data a slightly lower BLEU than tied matrices.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.embedding.base import Embedding
from ablate.model.embedding.table import Table


class Separate(Embedding):
    """An embedding with separate matrices for source, target and output projection."""

    def __init__(
        self, *, d_model: int, src_vocab: int, tgt_vocab: int, joint_vocab: bool, scaled: bool
    ) -> None:
        super().__init__()
        if src_vocab:
            self.src = Table(src_vocab, d_model, scaled=scaled)
        self.tgt = Table(tgt_vocab, d_model, scaled=scaled)
        self.output = nn.Linear(d_model, tgt_vocab, bias=False)

    def embed_src(self, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the vectors of source tokens."""
        return self.src(src)

    def embed_tgt(self, tgt_in: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Return the vectors of target tokens."""
        return self.tgt(tgt_in)

    def output_weight(self) -> Float[Tensor, "V D"]:
        """Return the matrix of the output projection."""
        return self.output.weight

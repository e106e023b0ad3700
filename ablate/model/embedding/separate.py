"""Separate matrices for source embedding, target embedding and output projection.

Equation: x = scale E_src[src], y = scale E_tgt[tgt], logits = W h; the scale is sqrt(d_model) or 1.
Source: arXiv:1706.03762, section 3.4, without its shared matrix. What differs: no matrix is shared.
    W has no bias, so that the options of this factor differ only in the sharing. What to expect:
    more parameters, and with little data a slightly lower BLEU than tied matrices.
"""

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.embedding.tied_target import TiedTarget


class Separate(TiedTarget):
    """An embedding with separate matrices for source, target and output projection."""

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

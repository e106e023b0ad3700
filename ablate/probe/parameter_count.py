"""Count the parameters of one attention block, of all blocks, and of the whole model.

Equation: one block has 3 d_model (n_heads d_head) + 3 n_heads d_head weights and biases for
    queries, keys and values, and (n_heads d_head) d_model + d_model for the output. With
    d_head = d_model / n_heads that is 4 d_model^2 + 4 d_model, without n_heads.
Source: arXiv:1706.03762, section 3.2.2.
"""

from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.transformer import Transformer
from ablate.probe.base import Probe


class ParameterCount(Probe):
    """Count parameters, and compare one attention block with 4 d_model^2 + 4 d_model."""

    measures = ("attention_block", "attention_all", "model", "block_excess")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return numbers of parameters.

        Returns:
            attention_block: parameters of the largest attention block.
            attention_all: parameters of all attention blocks.
            model: parameters of the whole model.
            block_excess: parameters of one attention block minus 4 d_model^2 + 4 d_model, for the
                block with the largest absolute difference. 0 means that the number of heads does
                not matter.
        """
        blocks = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
        sizes = {sum(p.numel() for p in block.parameters()) for block in blocks}
        d_model = blocks[0].d_model
        return {
            "attention_block": float(max(sizes)),
            "attention_all": float(sum(p.numel() for b in blocks for p in b.parameters())),
            "model": float(sum(p.numel() for p in model.parameters())),
            "block_excess": float(
                max(sizes, key=lambda n: abs(n - _formula(d_model))) - _formula(d_model)
            ),
        }


def _formula(d_model: int) -> int:
    return 4 * d_model**2 + 4 * d_model

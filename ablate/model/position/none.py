"""No positions.

Equation: x[pos].
Source: arXiv:2203.16634 (what models without positions can and cannot learn).
What differs: nothing is added in either stack.
What to expect: the encoder sees a bag of words. The decoder can still infer the number of earlier
    tokens from its causal mask. BLEU is lower for languages in which word order carries meaning.
"""

from ablate.model.position.base import Position


class NoPosition(Position):
    """An option without positions: embeddings stay unchanged."""

    def __init__(self, *, d_model: int) -> None:
        super().__init__()

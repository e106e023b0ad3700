"""No positions.

Equation: x[pos].
Source: arXiv:2203.16634 (what models without positions can and cannot learn).
What differs: nothing is added in either stack.
What to expect: the encoder sees a bag of words; the decoder can still count its own prefix
    through the causal mask. BLEU drops wherever word order carries meaning.
"""

from ablate.model.position.base import Position


class NoPosition(Position):
    """Returns embeddings unchanged."""

    def __init__(self, *, d_model: int) -> None:
        super().__init__()

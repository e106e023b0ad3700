"""One stack that sees a whole text at once, past and future.

Equation: p(x_t | corrupted x) = softmax(W h_t), h the states of a stack of self-attention and
    feed-forward sub-layers without a causal mask.
Source: arXiv:1810.04805, section 3 (BERT).
What differs: no embedding of segments; the states go to W, which may be the embedding, without the
    further layer, norm and bias of the authors' code. BERT's learned positions and gelu are
    components to choose.
What to expect: fills gaps better than a causal model of the same size; it generates nothing.
"""

from jaxtyping import Float
from torch import Tensor

from ablate.data.vocabulary import PAD
from ablate.model.base import Bidirectional
from ablate.model.one_stack import OneStack


class EncoderOnly(OneStack):
    """An encoder with a head."""

    takes = frozenset({Bidirectional})
    reads = {"encoder": slice(None)}
    name = "encoder"
    decodes = False

    def forward(self, inputs: Bidirectional) -> Float[Tensor, "B T D"]:
        """Return the states that predict each token."""
        return self.stack(self.embedding.embed_tgt(inputs.tokens), inputs.tokens != PAD)

    def limits(self) -> dict[str, int | None]:
        """Return the longest text that there are positions for."""
        return {"source": None, "target": self.stack.position.longest}

"""An encoder-only model: one stack without a causal mask, which sees a whole text at once.

Equation: p(x_t | corrupted x) = softmax(W h_t), h the states of a stack of self-attention and
    feed-forward sub-layers without a causal mask.
Source: arXiv:1810.04805, section 3 (BERT).
What differs: there is no segment embedding. The states go directly to W, which may be the
    embedding; the authors' code has a further layer, a norm and a bias before it. BERT's learned
    positions and gelu are options of their own factors.
What to expect: predicts masked tokens better than a causal model of the same size; it cannot
    generate text.
"""

from jaxtyping import Float
from torch import Tensor

from ablate.data.vocabulary import PAD
from ablate.model.base import Bidirectional
from ablate.model.one_stack import OneStack


class EncoderOnly(OneStack):
    """An encoder with an output head."""

    takes = frozenset({Bidirectional})
    reads = {"encoder": slice(None)}
    name = "encoder"
    decodes = False

    def forward(self, inputs: Bidirectional) -> Float[Tensor, "B T D"]:
        """Return the states that predict each token."""
        return self.stack(self.embedding.embed_tgt(inputs.tokens), inputs.tokens != PAD)

    def limits(self) -> dict[str, int | None]:
        """Return the number of positions, which limits the length of a text."""
        return {"source": None, "target": self.stack.position.longest}

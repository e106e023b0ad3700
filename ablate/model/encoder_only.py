"""An encoder-only model: one stack without a causal mask, which sees a whole text at once.

Equation: p(x_t | corrupted x) = softmax(W h_t), where h are the hidden states of a stack of
    self-attention and feed-forward sub-layers without a causal mask.
Source: arXiv:1810.04805, section 3 (BERT).
What differs: there is no segment embedding. W, which may be the embedding matrix, is applied
    directly to the hidden states; the authors' code has a further layer, a norm and a bias before
    W. BERT's learned positions and gelu are options of their own factors.
What to expect: predicts masked tokens better than a causal model of the same size; it cannot
    generate text.
"""

from jaxtyping import Float
from torch import Tensor

from ablate.data.vocabulary import PAD
from ablate.model.base import Bidirectional
from ablate.model.one_stack import OneStack


class EncoderOnly(OneStack):
    """A stack without a causal mask, and a head that predicts the token at each position."""

    takes = frozenset({Bidirectional})
    reads = {"encoder": slice(None)}
    name = "encoder"
    decodes = False

    def forward(self, inputs: Bidirectional) -> Float[Tensor, "B T D"]:
        """Return the hidden states that predict the token at each position."""
        return self.stack(self.embedding.embed_tgt(inputs.tokens), inputs.tokens != PAD)

    def limits(self) -> dict[str, int | None]:
        """Return the limit of the tokens of a text, under the key "target"; None: no limit."""
        readers = (kernel.longest for _, kernel in self.attentions())
        limits = [n for n in (self.stack.position.longest, *readers) if n is not None]
        return {"source": None, "target": min(limits, default=None)}

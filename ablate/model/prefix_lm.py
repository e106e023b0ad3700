"""One stack that reads a source as a whole, and the target behind it causally.

Equation: as of `decoder_only`, p(y_t | x, y_1 .. y_{t-1}), where every token of the source x
    attends to all of x, and every token of the target y to x and to those before it.
Source: arXiv:1910.10683, section 3.2.1, figure 4 (prefix LM); arXiv:1905.03197 (sequence to
    sequence by the mask alone).
What differs: the source's tokens are not predicted; no objective of other masks beside it.
What to expect: above `decoder_only` as a translator, whose source tokens cannot see what follows
    them; somewhat below an encoder-decoder with as many layers on each side and twice the weights.
"""

from ablate.model.base import Seq2Seq
from ablate.model.decoder_only import DecoderOnly


class PrefixLM(DecoderOnly):
    """A decoder without an encoder that looks ahead in its source."""

    takes = frozenset({Seq2Seq})
    source_reads = "source"

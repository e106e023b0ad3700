"""A prefix language model: a causal stack, except that every token sees the whole source.

Equation: as in `decoder_only`, p(y_t | x, y_1 .. y_{t-1}), where every token of the source x
    attends to all of x, and every token of the target y to x and to the tokens of y before it.
Source: arXiv:1910.10683, section 3.2.1, figure 4 (prefix LM); arXiv:1905.03197 (sequence to
    sequence by the mask alone).
What differs: the tokens of the source are not predicted; there are no further objectives with other
    masks.
What to expect: better translations than `decoder_only`, whose source tokens cannot see later ones;
    somewhat worse than an encoder-decoder with the same number of layers in each stack and twice
    the weights.
"""

from ablate.model.base import Seq2Seq
from ablate.model.decoder_only import DecoderOnly


class PrefixLM(DecoderOnly):
    """A decoder-only model whose source tokens attend to the whole source."""

    takes = frozenset({Seq2Seq})
    source_reads = "source"

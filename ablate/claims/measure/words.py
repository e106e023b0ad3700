"""Gold sentences as a model reads them, and its attention between their words."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ablate.claims.measure.gold import Gold
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.data.vocabulary import BOS, EOS, PAD
from ablate.model.base import Seq2Seq

Spans = list[tuple[int, int]]  # of each word the first token, and the one after its last
Links = Sequence[list[tuple[int, int]]]  # of each sentence


class Read(NamedTuple):
    """Sentences in tokens; spans are those of their words, without the end mark."""

    inputs: Seq2Seq
    targets: Tensor  # "B T"
    src: list[Spans]
    tgt: list[Spans]


def read(found: Sequence[Gold], tokenizers: Tokenizers) -> Read:
    """Return gold sentences as tokens."""
    sources, src = zip(*(pieces(one.src, tokenizers.src) for one in found), strict=True)
    targets, tgt = zip(*(pieces(one.tgt, tokenizers.tgt) for one in found), strict=True)
    started = [torch.cat([torch.tensor([BOS]), ids[:-1]]) for ids in targets]
    padded = [pad_sequence(list(side), True, PAD) for side in (sources, started, targets)]
    return Read(Seq2Seq(padded[0], padded[1]), padded[2], list(src), list(tgt))


def pieces(words: list[str], tokenizer: Tokenizer) -> tuple[Tensor, Spans]:
    """Return the tokens of a sentence, the end mark too, and which are whose."""
    ids: list[int] = []
    spans: Spans = []
    for word in tokenizer.encode_batch(words):  # no piece crosses a word
        spans.append((len(ids), len(ids) + len(word)))
        ids += word
    return torch.tensor([*ids, EOS]), spans


def between_words(
    weights: Float[Tensor, "H Q K"], queries: Spans, keys: Spans
) -> Float[Tensor, "H W V"]:
    """Return the mean weight that a word's tokens give to all tokens of another together."""
    reading = torch.stack([weights[:, a:b].mean(1) for a, b in queries], 1)
    return torch.stack([reading[:, :, a:b].sum(2) for a, b in keys], 2)


def hits(attention: list[Float[Tensor, "H _ _"]], links: Links) -> Float[Tensor, " H"]:
    """Return of each head the share of links whose second word has the first one's largest weight.

    Weights of words on themselves, and on the end mark, are not looked at.
    """
    found = []
    for weights, own in zip(attention, links, strict=True):
        others = weights.masked_fill(torch.eye(weights.size(1), dtype=torch.bool), -1)
        found += [others[:, i].argmax(-1) == j for i, j in own]
    return torch.stack(found).double().mean(0)

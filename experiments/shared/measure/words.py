"""Tokenise sentences word by word, and average attention over the tokens of each word."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ablate.data import BOS, EOS, PAD
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.model import Seq2Seq
from experiments.shared.measure.gold import Gold

Spans = list[tuple[int, int]]  # first token of each word, and the token after its last
Links = Sequence[list[tuple[int, int]]]  # for each sentence, pairs of positions of words


class Read(NamedTuple):
    """Tokenised sentence pairs, with the range of tokens of each word (without the end token)."""

    inputs: Seq2Seq
    targets: Tensor  # "B T"
    src: list[Spans]
    tgt: list[Spans]


def read(sentences: Sequence[Gold], tokenizers: Tokenizers) -> Read:
    """Return sentence pairs as padded token ids, with the range of tokens of each word."""
    sources, src = zip(
        *(pieces(sentence.src, tokenizers.src) for sentence in sentences), strict=True
    )
    targets, tgt = zip(
        *(pieces(sentence.tgt, tokenizers.tgt) for sentence in sentences), strict=True
    )
    started = [torch.cat([torch.tensor([BOS]), ids[:-1]]) for ids in targets]
    padded = [pad_sequence(list(side), True, PAD) for side in (sources, started, targets)]
    return Read(Seq2Seq(padded[0], padded[1]), padded[2], list(src), list(tgt))


def pieces(words: list[str], tokenizer: Tokenizer) -> tuple[Tensor, Spans]:
    """Return the token ids of a sentence including the end token, and the range of tokens of each
    word.
    """
    ids: list[int] = []
    spans: Spans = []
    for word in tokenizer.encode_batch(words):  # no subword crosses word boundaries
        spans.append((len(ids), len(ids) + len(word)))
        ids += word
    return torch.tensor([*ids, EOS]), spans


def between_words(
    weights: Float[Tensor, "H Q K"], queries: Spans, keys: Spans
) -> Float[Tensor, "H W V"]:
    """Return the attention weights between words: the mean over the tokens of a query word of the
    sum over the tokens of a key word.
    """
    reading = torch.stack([weights[:, a:b].mean(1) for a, b in queries], 1)
    return torch.stack([reading[:, :, a:b].sum(2) for a, b in keys], 2)


def hits(attention: list[Float[Tensor, "H _ _"]], links: Links) -> Float[Tensor, " H"]:
    """Return for each head the fraction of grammatical links (pairs of words) whose second word
    gets the largest weight of the first word.

    Weights of words on themselves and on the end token are ignored.

    Args:
        attention: weights between the words of each sentence.
        links: pairs of positions of linked words in each sentence.
    """
    predictions = []
    for weights, pairs in zip(attention, links, strict=True):
        to_others = weights.masked_fill(torch.eye(weights.size(1), dtype=torch.bool), -1)
        predictions += [to_others[:, i].argmax(-1) == j for i, j in pairs]
    return torch.stack(predictions).double().mean(0)

"""Predict links between words of a sentence by the best head or by the best fixed distance.

Among the heads of all encoder layers, the head whose largest weight (on another word) predicts most
links of a kind in validation sentences is evaluated on test sentences. The best fixed distance, a
baseline without grammar, is chosen in the same way.

Source: Clark et al. 2019, arXiv:1906.04341, section 4; Voita et al. 2019, arXiv:1905.09418.
What differs: links come from the trees that generated the sentences rather than from a parser.
"""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.measure.gold import KINDS, Gold, sentences
from ablate.claims.measure.inside import Attended, watched
from ablate.claims.measure.words import Read, between_words, hits, read
from ablate.config.limits import Range
from ablate.data.module import TextData
from ablate.measure.base import Measure
from ablate.model.transformer import Transformer


class Offsets(Measure):
    """Predict links by the best fixed distance, as a baseline without a model.

    Args:
        sentences: number of validation sentences for the choice, and of test sentences for the
            result; smaller numbers may contain no link.
    """

    measures = KINDS

    def __init__(self, *, sentences: Annotated[int, Range(100)]) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the fraction of predicted links of each kind."""
        return offset_links(*(sentences(s, self.sentences) for s in ("validation", "test")))


class Seen(NamedTuple):
    """Sentences of a split, with what the attentions compute on them."""

    gold: tuple[Gold, ...]
    read: Read
    attended: dict[str, Attended]


def look(model: Transformer, data: TextData, gold: tuple[Gold, ...]) -> Seen:
    """Run the model on sentences and record its attentions."""
    text = read(gold, data.tokenizers)
    with watched(model) as attended:
        model(text.inputs)
    return Seen(gold, text, attended)


def encoder_words(seen: Seen) -> list[Float[Tensor, "H _ _"]]:
    """Return the weights between source words, of the heads of all encoder layers."""
    layers = [
        attention.weights for name, attention in seen.attended.items() if name.startswith("encoder")
    ]
    every = torch.cat(layers, 1)
    return [between_words(w, spans, spans) for w, spans in zip(every, seen.read.src, strict=True)]


def head_links(chosen: Seen, judged: Seen) -> dict[str, float]:
    """Return the results of the heads that are best on other sentences.

    verb_subject, pronoun, ambiguous_noun: fraction of predicted links; range: difference in words
    between the mean distances of the most distant and the most local head.
    """
    choices, asked = encoder_words(chosen), encoder_words(judged)
    far, here = mean_distances(choices), mean_distances(asked)
    measurements = {"range": float(here[far.argmax()] - here[far.argmin()])}
    for kind in KINDS:
        best = hits(choices, [sentence.links[kind] for sentence in chosen.gold]).argmax()
        measurements[kind] = float(
            hits(asked, [sentence.links[kind] for sentence in judged.gold])[best]
        )
    return measurements


def offset_links(chosen: tuple[Gold, ...], judged: tuple[Gold, ...]) -> dict[str, float]:
    """Return the fraction of links at the distance that is most frequent in other sentences."""
    fractions = {}
    for kind in KINDS:
        choices, asked = (
            torch.tensor([j - i for sentence in gold for i, j in sentence.links[kind]])
            for gold in (chosen, judged)
        )
        fractions[kind] = float((asked == choices.mode().values).double().mean())
    return fractions


def mean_distances(attention: list[Float[Tensor, "H _ _"]]) -> Float[Tensor, " H"]:
    """Return the mean attention distance of each head in words, without the end token."""
    distances = []
    for weights in attention:
        at = torch.arange(weights.size(1))
        apart = (at[:, None] - at).abs()
        distances.append(((weights * apart).sum(-1) / weights.sum(-1)).T)
    return torch.cat(distances).mean(0)

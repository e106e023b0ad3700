"""Links between words of a sentence, found by the best head or by the best fixed distance.

Of the heads of all encoder layers, the one whose strongest weight (on another word) finds most
links of a kind in sentences of validation is judged on sentences of test. The best fixed distance
is chosen in the same way: it is what a head without any grammar could do.

Source: Clark et al. 2019, arXiv:1906.04341, section 4; Voita et al. 2019, arXiv:1905.09418.
What differs: links come from the trees that the sentences were made of, and not from a parser.
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
    """Links by the best fixed distance, whatever the model.

    Args:
        sentences: of validation to choose on, and as many of test to judge on; fewer may hold
            no link.
    """

    measures = KINDS

    def __init__(self, *, sentences: Annotated[int, Range(100)]) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return of each kind the share of links found."""
        return offset_links(*(sentences(s, self.sentences) for s in ("validation", "test")))


class Seen(NamedTuple):
    """Sentences of a split, and what the attentions do on them."""

    gold: tuple[Gold, ...]
    read: Read
    attended: dict[str, Attended]


def look(model: Transformer, data: TextData, gold: tuple[Gold, ...]) -> Seen:
    """Let the model read gold sentences."""
    found = read(gold, data.tokenizers)
    with watched(model) as attended:
        model(found.inputs)
    return Seen(gold, found, attended)


def encoder_words(seen: Seen) -> list[Float[Tensor, "H _ _"]]:
    """Return the weights between source words of the heads of all encoder layers."""
    layers = [one.weights for name, one in seen.attended.items() if name.startswith("encoder")]
    every = torch.cat(layers, 1)
    return [between_words(w, own, own) for w, own in zip(every, seen.read.src, strict=True)]


def head_links(chosen: Seen, judged: Seen) -> dict[str, float]:
    """Return what the heads find that are best on other sentences.

    verb_subject, pronoun, ambiguous_noun: share of the links; range: words between the mean
    distances of the farthest and the nearest head.
    """
    known, asked = encoder_words(chosen), encoder_words(judged)
    far, here = mean_distances(known), mean_distances(asked)
    found = {"range": float(here[far.argmax()] - here[far.argmin()])}
    for kind in KINDS:
        best = hits(known, [one.links[kind] for one in chosen.gold]).argmax()
        found[kind] = float(hits(asked, [one.links[kind] for one in judged.gold])[best])
    return found


def offset_links(chosen: tuple[Gold, ...], judged: tuple[Gold, ...]) -> dict[str, float]:
    """Return of each kind the share of links of the distance that most of other sentences have."""
    found = {}
    for kind in KINDS:
        known, asked = (
            torch.tensor([j - i for one in gold for i, j in one.links[kind]])
            for gold in (chosen, judged)
        )
        found[kind] = float((asked == known.mode().values).double().mean())
    return found


def mean_distances(attention: list[Float[Tensor, "H _ _"]]) -> Float[Tensor, " H"]:
    """Return the mean distance in words that each head's weights bridge, the end mark left out."""
    found = []
    for weights in attention:
        at = torch.arange(weights.size(1))
        apart = (at[:, None] - at).abs()
        found.append(((weights * apart).sum(-1) / weights.sum(-1)).T)
    return torch.cat(found).mean(0)

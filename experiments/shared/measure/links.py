"""Predict grammatical links between words, such as a verb and its subject, by the best attention
head or by the best fixed distance.

For each word, a head predicts a link to the other word with the largest attention weight. For each
kind of link, the encoder head that predicts most links in validation sentences is evaluated on test
sentences. The best fixed distance, a baseline without grammar, is chosen in the same way.

Source: Clark et al. 2019, arXiv:1906.04341, section 4; Voita et al. 2019, arXiv:1905.09418.
What differs: links come from the trees that generated the sentences rather than from a parser.
"""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Range
from ablate.data.module import TextData
from ablate.measure import Measure
from ablate.model.transformer import Transformer
from experiments.shared.measure.gold import KINDS, Gold, sentences
from experiments.shared.measure.inside import Attended, watched
from experiments.shared.measure.words import Read, between_words, hits, read


class Offsets(Measure):
    """A measurement without a model, as a baseline: grammatical links between words, such as a verb
    and its subject, are predicted by the best fixed distance in words.

    Args:
        sentences: number of validation sentences (to choose the distance) and of test sentences (to
            measure).
    """

    measures = KINDS

    def __init__(self, *, sentences: Annotated[int, Range(100)]) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return, for each kind of grammatical link, the fraction of links that the best fixed
        distance predicts.
        """
        return offset_links(*(sentences(s, self.sentences) for s in ("validation", "test")))


class Seen(NamedTuple):
    """Sentences that a model has read: the correct grammatical links between their words (such as a
    verb and its subject), their tokens, and the recorded attention weights.
    """

    gold: tuple[Gold, ...]
    read: Read
    attended: dict[str, Attended]

    def encoder(self) -> list[Attended]:
        """Return the records of the encoder's attentions, layer by layer."""
        return [record for name, record in self.attended.items() if name.startswith("encoder")]


def look(model: Transformer, data: TextData, gold: tuple[Gold, ...]) -> Seen:
    """Run the model on sentences, and return the sentences with their tokens and the attention
    weights that the model computed.
    """
    text = read(gold, data.tokenizers)
    with watched(model) as attended:
        model(text.inputs)
    return Seen(gold, text, attended)


def encoder_words(seen: Seen) -> list[Float[Tensor, "H _ _"]]:
    """Return for each sentence the attention weights between source words, for the heads of all
    encoder layers.
    """
    every = torch.cat([attention.weights for attention in seen.encoder()], 1)
    return [between_words(w, spans, spans) for w, spans in zip(every, seen.read.src, strict=True)]


def head_links(chosen: Seen, judged: Seen) -> dict[str, float]:
    """Return the fractions of grammatical links that the best heads predict, and the range of
    attention distances.

    Args:
        chosen: sentences on which the heads are chosen.
        judged: sentences on which these heads are evaluated.

    Returns:
        verb_subject, pronoun, ambiguous_noun: fraction of links of this kind that are predicted. A
            link joins two words of a sentence, such as a verb and its subject.
        range: difference in words between the mean distances of the most distant and the most local
            head.
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
    """Return, for each kind of grammatical link, the fraction of links in `judged` with the
    distance in words that is most frequent in `chosen`.
    """
    fractions = {}
    for kind in KINDS:
        choices, asked = (
            torch.tensor([j - i for sentence in gold for i, j in sentence.links[kind]])
            for gold in (chosen, judged)
        )
        fractions[kind] = float((asked == choices.mode().values).double().mean())
    return fractions


def mean_distances(attention: list[Float[Tensor, "H _ _"]]) -> Float[Tensor, " H"]:
    """Return for each head the mean distance in words between a word and the words to which the
    head attends, weighted by attention; the end token is left out.

    Args:
        attention: attention weights between the words of each sentence.
    """
    distances = []
    for weights in attention:
        at = torch.arange(weights.size(1))
        apart = (at[:, None] - at).abs()
        distances.append(((weights * apart).sum(-1) / weights.sum(-1)).T)
    return torch.cat(distances).mean(0)

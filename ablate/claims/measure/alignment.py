"""Measure whether cross-attention attends to the source word that a target word translates.

Equation: the fraction of target words (nouns, verbs, adjectives, adverbs, prepositions) whose
    largest attention weight is on a source word that they translate. Weights are averaged over the
    heads of a layer and the tokens of the word.
Source: Och and Ney 2003, alignment error rate with sure links only; arXiv:1909.02074, section 3.1,
    for the choice of the layer and of the step at which a word is read or predicted.
What differs: the links come from the trees from which both sentences were generated.
What to expect: a word is predicted one step before it is read, and layers differ: both are chosen
    on validation sentences and evaluated on test sentences.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.measure.gold import Gold, sentences
from ablate.claims.measure.inside import watched
from ablate.claims.measure.words import between_words, read
from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.measure.base import Measure
from ablate.model.transformer import Transformer

MEASURES = ("aligned", "aligned_off_diagonal")


class Diagonal(Measure):
    """Align words by their relative position, as a baseline without a model.

    Args:
        sentences: number of test sentences.
    """

    measures = MEASURES

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the fraction of correctly aligned words, as for `Alignment`."""
        judged = sentences("test", self.sentences)
        return shares([diagonal(sentence) for sentence in judged], judged)


class Alignment(Measure):
    """Align words by the largest weights of the best layer and step.

    Args:
        sentences: number of validation sentences for the choice, and of test sentences for the
            result.
    """

    measures = MEASURES

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the fraction of correctly aligned words.

        aligned: of all words; aligned_off_diagonal: of those that the diagonal aligns incorrectly.
        """
        chosen, judged = (sentences(split, self.sentences) for split in ("validation", "test"))
        weights_of = self.candidates(model, data, chosen)
        best = max(weights_of, key=lambda name: float(rightly(weights_of[name], chosen).mean()))
        return shares(self.candidates(model, data, judged)[best], judged)

    def candidates(
        self, model: Transformer, data: TextData, gold: tuple[Gold, ...]
    ) -> dict[tuple[str, int], list[Float[Tensor, "_ _"]]]:
        """Return the attention weights between target and source words, by layer and step."""
        text = read(gold, data.tokenizers)
        with watched(model) as attended:
            model(text.inputs)
        by_layer = {}
        for name, attention in attended.items():
            # predicting the word, reading the word
            for step in (0, 1) if name.endswith("cross") else ():
                mean = attention.weights.mean(1, keepdim=True)
                spans = zip(mean, text.tgt, text.src, strict=True)
                by_layer[name, step] = [
                    between_words(w, [(a + step, b + step) for a, b in tgt], src)[0]
                    for w, tgt, src in spans
                ]
        return by_layer


def shares(alignments: list[Float[Tensor, "_ _"]], gold: tuple[Gold, ...]) -> dict[str, float]:
    """Return the fraction of correct alignments among all words, and among those off the
    diagonal.
    """
    right = rightly(alignments, gold)
    off = rightly([diagonal(sentence) for sentence in gold], gold) == 0
    return {"aligned": float(right.mean()), "aligned_off_diagonal": float(right[off].mean())}


def diagonal(sentence: Gold) -> Float[Tensor, "W V"]:
    """Return weights that decrease with the distance between relative positions."""
    tgt, src = (torch.linspace(0, 1, len(words)) for words in (sentence.tgt, sentence.src))
    return -(tgt[:, None] - src).abs()


def rightly(attention: list[Float[Tensor, "_ _"]], gold: tuple[Gold, ...]) -> Float[Tensor, " N"]:
    """Return whether each target word with a translation is aligned correctly, as 1 or 0."""
    correct = []
    for weights, sentence in zip(attention, gold, strict=True):
        pointed = weights.argmax(1).tolist()
        words = sorted({target for target, _ in sentence.aligned})
        correct += [(target, pointed[target]) in sentence.aligned for target in words]
    return torch.tensor(correct, dtype=torch.float64)

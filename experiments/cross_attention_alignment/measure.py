"""Measure whether cross-attention attends to the source word that a target word translates.

Equation: the fraction of target words (nouns, verbs, adjectives, adverbs, prepositions) whose
    largest attention weight is on a source word that they translate. Weights are averaged over the
    heads of a layer and the tokens of the word.
Source: Och and Ney 2003, alignment error rate with sure alignment links only; arXiv:1909.02074,
    section 3.1, for the choice of the layer and of the step at which a word is read or predicted.
What differs: the alignment links between words come from the trees from which both sentences were
    generated.
What to expect: a word is predicted one step before it is read, and layers differ: both are chosen
    on validation sentences and evaluated on test sentences.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.measure import Measure
from ablate.model.transformer import Transformer
from experiments.shared.measure.gold import Gold, sentences
from experiments.shared.measure.links import Seen, look
from experiments.shared.measure.words import between_words

MEASURES = ("aligned", "aligned_off_diagonal")


class Diagonal(Measure):
    """A measurement without a model, as a baseline: each target word is aligned with the source
    word at the same relative position.

    Args:
        sentences: number of test sentences.
    """

    measures = MEASURES

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the fractions of correctly aligned words, under the names aligned and
        aligned_off_diagonal, which `Alignment` also uses.
        """
        judged = sentences("test", self.sentences)
        return shares([diagonal(sentence) for sentence in judged], judged)


class Alignment(Measure):
    """A measurement that aligns each target word with the source word to which it attends most, and
    compares the result with the correct alignment.

    The attention is taken from one layer, and from one of two decoding steps: when the target word
    is predicted, or one step later, when the decoder reads the word as its input.

    Args:
        sentences: number of validation sentences (to choose layer and decoding step) and of test
            sentences (to measure).
    """

    measures = MEASURES
    reads_weights = True

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the fractions of target words that attention aligns with their translations.

        Returns:
            aligned: fraction of all words.
            aligned_off_diagonal: fraction of the words that would be aligned incorrectly with the
                source word at the same relative position.
        """
        chosen, judged = (
            look(model, data, sentences(split, self.sentences)) for split in ("validation", "test")
        )
        by_layer = candidates(chosen)
        best = max(by_layer, key=lambda name: float(rightly(by_layer[name], chosen.gold).mean()))
        return shares(candidates(judged)[best], judged.gold)


def candidates(seen: Seen) -> dict[tuple[str, int], list[Float[Tensor, "_ _"]]]:
    """Return the attention weights between target and source words of each sentence, by the name of
    the cross-attention and the decoding step: 0 when a word is predicted, 1 when the decoder reads
    the word.
    """
    by_layer = {}
    for name, attention in seen.attended.items():
        for step in (0, 1) if name.endswith("cross") else ():
            mean = attention.weights.mean(1, keepdim=True)
            spans = zip(mean, seen.read.tgt, seen.read.src, strict=True)
            by_layer[name, step] = [
                between_words(w, [(a + step, b + step) for a, b in tgt], src)[0]
                for w, tgt, src in spans
            ]
    return by_layer


def shares(alignments: list[Float[Tensor, "_ _"]], gold: tuple[Gold, ...]) -> dict[str, float]:
    """Return the fractions of target words whose largest weight is on a source word that they
    translate.

    Args:
        alignments: weights of target words on source words, for each sentence.
        gold: the sentences with their correct alignments.

    Returns:
        aligned: fraction of all words.
        aligned_off_diagonal: fraction of the words that would be aligned incorrectly with the
            source word at the same relative position.
    """
    right = rightly(alignments, gold)
    off = rightly([diagonal(sentence) for sentence in gold], gold) == 0
    return {"aligned": float(right.mean()), "aligned_off_diagonal": float(right[off].mean())}


def diagonal(sentence: Gold) -> Float[Tensor, "W V"]:
    """Return weights between target and source words that decrease with the distance between their
    relative positions.
    """
    tgt, src = (torch.linspace(0, 1, len(words)) for words in (sentence.tgt, sentence.src))
    return -(tgt[:, None] - src).abs()


def rightly(attention: list[Float[Tensor, "_ _"]], gold: tuple[Gold, ...]) -> Float[Tensor, " N"]:
    """Return 1 for each target word whose largest weight is on its translation and 0 otherwise;
    words without a translation are left out.
    """
    correct = []
    for weights, sentence in zip(attention, gold, strict=True):
        pointed = weights.argmax(1).tolist()
        words = sorted({target for target, _ in sentence.aligned})
        correct += [(target, pointed[target]) in sentence.aligned for target in words]
    return torch.tensor(correct, dtype=torch.float64)

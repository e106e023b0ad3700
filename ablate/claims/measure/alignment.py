"""Whether cross-attention looks at the source word that a target word translates.

Equation: the share of target words (nouns, verbs, adjectives, adverbs, prepositions) whose largest
    weight, mean over a layer's heads and the word's tokens, is on a source word that it translates.
Source: Och and Ney 2003, alignment error rate with sure links alone; arXiv:1909.02074, section 3.1,
    for the step at which a word is read or predicted, and for the choice of a layer.
What differs: links come from the trees that both sentences were made of.
What to expect: a word is predicted one step before it is read, and layers differ: both are chosen
    on sentences of validation, and what was chosen is judged on sentences of test.
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
    """Aligns words by their places in the sentence, whatever the model.

    Args:
        sentences: of test.
    """

    measures = MEASURES

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the share of words that are aligned rightly, as `Alignment` does."""
        judged = sentences("test", self.sentences)
        return shares([diagonal(one) for one in judged], judged)


class Alignment(Measure):
    """Aligns words by the largest weights of the best layer and step.

    Args:
        sentences: of validation to choose on, and as many of test to judge on.
    """

    measures = MEASURES

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the share of words that are aligned rightly.

        aligned: of all; aligned_off_diagonal: of those that the diagonal aligns wrongly.
        """
        chosen, judged = (sentences(split, self.sentences) for split in ("validation", "test"))
        known = self.candidates(model, data, chosen)
        best = max(known, key=lambda name: float(rightly(known[name], chosen).mean()))
        return shares(self.candidates(model, data, judged)[best], judged)

    def candidates(
        self, model: Transformer, data: TextData, gold: tuple[Gold, ...]
    ) -> dict[tuple[str, int], list[Float[Tensor, "_ _"]]]:
        """Return the weights of target words on source words, by layer and step."""
        text = read(gold, data.tokenizers)
        with watched(model) as attended:
            model(text.inputs)
        found = {}
        for name, one in attended.items():
            for step in (0, 1) if name.endswith("cross") else ():  # predicted, read
                mean = one.weights.mean(1, keepdim=True)
                spans = zip(mean, text.tgt, text.src, strict=True)
                found[name, step] = [
                    between_words(w, [(a + step, b + step) for a, b in tgt], src)[0]
                    for w, tgt, src in spans
                ]
        return found


def shares(found: list[Float[Tensor, "_ _"]], gold: tuple[Gold, ...]) -> dict[str, float]:
    """Return the shares that are right of all words, and of those off the diagonal."""
    right = rightly(found, gold)
    off = rightly([diagonal(one) for one in gold], gold) == 0
    return {"aligned": float(right.mean()), "aligned_off_diagonal": float(right[off].mean())}


def diagonal(one: Gold) -> Float[Tensor, "W V"]:
    """Return weights that fall with the distance between the places of two words, 0 to 1."""
    tgt, src = (torch.linspace(0, 1, len(words)) for words in (one.tgt, one.src))
    return -(tgt[:, None] - src).abs()


def rightly(attention: list[Float[Tensor, "_ _"]], gold: tuple[Gold, ...]) -> Float[Tensor, " N"]:
    """Return for each target word with a source word whether it is aligned with one, 1 or 0."""
    found = []
    for weights, one in zip(attention, gold, strict=True):
        pointed = weights.argmax(1).tolist()
        words = sorted({target for target, _ in one.aligned})
        found += [(target, pointed[target]) in one.aligned for target in words]
    return torch.tensor(found, dtype=torch.float64)

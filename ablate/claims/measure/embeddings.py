"""What the vectors of words know of their classes.

Words are those of the source language that are one token; classes are those of the dictionary.
Words of a class and others are compared at like frequency in train, for frequency alone shapes such
vectors (Gong et al. 2018, arXiv:1809.06858). The probe is a ridge regression of the classes that
leaves out the word that it judges, in closed form. A single dimension tells two classes apart by
its best area under the curve; a random rotation keeps all that is linear and loses the axes.
"""

from collections import Counter
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.data.toy.lexicon import (
    ADJECTIVES,
    ADVERBS,
    AMBIGUOUS_NOUNS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Word,
)
from ablate.measure.base import Measure
from ablate.model.transformer import Transformer
from ablate.seeding import stream

LIKE = 1.5  # largest ratio of two frequencies that count as alike
LINES = 5000  # of train, of which words are counted
RIDGE = 1.0  # of columns with unit variance


class Feature(NamedTuple):
    """Classes of some words: their forms, and a number for the class of each."""

    forms: list[str]
    classes: list[int]


class Embeddings(Measure):
    """Looks at the table of the source words.

    Args:
        rotated: rotate the vectors at random before single dimensions are looked at.
        rotations: that are tried, if so.
    """

    measures = ("same_part_of_speech", "same_meaning", "features", "one_dimension", "words")

    def __init__(self, *, rotated: bool, rotations: Count) -> None:
        self.rotated, self.rotations = rotated, rotations

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return how near words of a class are, and how far classes can be read off.

        same_part_of_speech, same_meaning: chance that a word is nearer (by cosine) to one of its
        class than to another of like frequency, by part of speech, and among nouns by living or
        thing and among verbs by body or mind; features: right answers of the probe above the
        largest class's share, mean over features; one_dimension: the best dimension's area under
        the curve, mean over features of two classes; words: that were looked at.
        """
        known = features(whole_words(data))
        ids = {form: piece(data, form) for form in known["part_of_speech"].forms}
        vectors = {form: row(model, number) for form, number in ids.items()}
        counts = Counter(data.first_lines("train", LINES).inputs.src.flatten().tolist())

        def matrix(one: Feature) -> tuple[Tensor, Tensor]:
            return torch.stack([vectors[form] for form in one.forms]), torch.tensor(one.classes)

        def nearer(name: str) -> float:
            seen = [float(max(1, counts[ids[form]])) for form in known[name].forms]
            return neighbours(*matrix(known[name]), torch.tensor(seen))

        two = [matrix(one) for one in known.values() if max(one.classes) == 1]
        probed = [above_largest_class(*matrix(one)) for one in known.values()]
        dimensions = [self.one_dimension(*one) for one in two]
        return {
            "same_part_of_speech": nearer("part_of_speech"),
            "same_meaning": (nearer("living") + nearer("mind")) / 2,
            "features": sum(probed) / len(probed),
            "one_dimension": sum(dimensions) / len(dimensions),
            "words": float(len(vectors)),
        }

    def one_dimension(self, x: Float[Tensor, "N D"], classes: Int[Tensor, " N"]) -> float:
        """Return how well the best dimension tells two classes apart, 0.5 to 1."""
        if not self.rotated:
            return best_dimension(x, classes == 1)
        generator = torch.Generator().manual_seed(stream(0, "Embeddings"))
        found = []
        for _ in range(self.rotations):
            drawn = torch.randn(x.size(1), x.size(1), generator=generator, dtype=x.dtype)
            found.append(best_dimension(x @ torch.linalg.qr(drawn).Q, classes == 1))
        return sum(found) / len(found)


def whole_words(data: TextData) -> set[str]:
    """Return the source words that are one token."""
    forms = sorted({entry.mirel for entry in entries()})
    ids = data.tokenizers.src.encode_batch(forms)
    return {form for form, own in zip(forms, ids, strict=True) if len(own) == 1}


def entries() -> tuple[Word, ...]:
    """Return the words of the dictionary that have a class."""
    return (*NOUNS, *VERBS, *ADJECTIVES, *ADVERBS, *PREPOSITIONS)


def features(known: set[str]) -> dict[str, Feature]:
    """Return the features of known words; forms of two meanings have part of speech alone."""
    groups = (NOUNS, VERBS, ADJECTIVES, ADVERBS, PREPOSITIONS)
    speech = {word.mirel: number for number, group in enumerate(groups) for word in group}
    doubtful = {noun.mirel for noun in AMBIGUOUS_NOUNS}
    nouns = [noun for noun in NOUNS if noun.mirel not in doubtful]
    genders = sorted({noun.gender for noun in nouns})
    domains = sorted({verb.domain for verb in VERBS})
    found = {
        "part_of_speech": speech,
        "living": {noun.mirel: int(noun.animate) for noun in nouns},
        "mind": {verb.mirel: domains.index(verb.domain) for verb in VERBS},
        "gender": {noun.mirel: genders.index(noun.gender) for noun in nouns},
    }
    return {name: _feature(classes, known) for name, classes in found.items()}


def _feature(classes: dict[str, int], known: set[str]) -> Feature:
    forms = sorted(classes.keys() & known)
    return Feature(forms, [classes[form] for form in forms])


def piece(data: TextData, form: str) -> int:
    """Return the token of a whole word."""
    return data.tokenizers.src.encode_batch([form])[0][0]


def row(model: Transformer, token: int) -> Float[Tensor, " D"]:
    """Return the vector of a source token."""
    return model.embedding.embed_src(torch.tensor([[token]]))[0, 0].detach()


def neighbours(
    x: Float[Tensor, "N D"], classes: Int[Tensor, " N"], counts: Float[Tensor, " N"]
) -> float:
    """Return the mean over words of the chance that one of its class is nearer than another.

    Only words of like frequency are held against each other.
    """
    unit = torch.nn.functional.normalize(x, dim=1)
    cosine, same = unit @ unit.T, classes[:, None] == classes
    same &= ~torch.eye(len(x), dtype=torch.bool)
    ratio = counts.log()[:, None] - counts.log()
    alike = ratio.abs() <= torch.tensor(LIKE).log()
    found = []
    for i in range(len(x)):
        pairs = same[i][:, None] & (classes != classes[i]) & alike
        wins = (cosine[i][:, None] > cosine[i])[pairs]
        if len(wins):
            found.append(float(wins.double().mean()))
    return float(torch.tensor(found, dtype=x.dtype).mean())


def above_largest_class(x: Float[Tensor, "N D"], classes: Int[Tensor, " N"]) -> float:
    """Return the right answers of a probe that leaves a word out, above the largest class."""
    z = (x - x.mean(0)) / x.std(0)
    z = torch.cat([z, torch.ones(len(z), 1, dtype=z.dtype)], 1)
    penalty = RIDGE * torch.eye(z.size(1), dtype=z.dtype)
    penalty[-1, -1] = 0  # of the constant
    hat = z @ torch.linalg.solve(z.T @ z + penalty, z.T)
    truth = torch.nn.functional.one_hot(classes).to(z.dtype)
    own = hat.diagonal()[:, None]
    left_out = (hat @ truth - own * truth) / (1 - own)
    right = (left_out.argmax(1) == classes).double().mean()
    return float(right - truth.mean(0).max())


def best_dimension(x: Float[Tensor, "N D"], positive: Bool[Tensor, " N"]) -> float:
    """Return the largest area under the curve, in either direction, of any dimension."""
    above = (x[positive][:, None] > x[~positive][None]).double().mean((0, 1))
    return float(torch.maximum(above, 1 - above).max())

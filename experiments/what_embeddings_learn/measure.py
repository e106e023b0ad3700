"""Measure how much word vectors encode about word classes.

The words are those of the source language that are a single token; the classes come from the
dictionary. Words of a class and other words are compared at similar frequency in train, because
frequency alone shapes such vectors (Gong et al. 2018, arXiv:1809.06858). The probe is a ridge
regression of the classes with leave-one-out evaluation, in closed form. A single dimension
is scored by the area under the ROC curve with which it separates two classes; a random rotation
keeps linear information but changes the axes.
"""

from collections import Counter

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
from ablate.errors import UserError
from ablate.measure import Measure
from ablate.model.transformer import Transformer
from ablate.process import stream

LIKE = 1.5  # maximum ratio of two frequencies that count as similar
LINES = 5000  # lines of train in which words are counted
RIDGE = 1.0  # penalty for columns with unit variance
# the words of the built-in corpus, by part of speech
GROUPS: tuple[tuple[Word, ...], ...] = (NOUNS, VERBS, ADJECTIVES, ADVERBS, PREPOSITIONS)


class Embeddings(Measure):
    """A measurement of how well the embeddings of source words encode word classes.

    Args:
        rotated: whether vectors are rotated at random before single dimensions are analysed.
        rotations: number of random rotations, if `rotated` is true.
    """

    measures = ("same_part_of_speech", "same_meaning", "features", "one_dimension", "words")

    def __init__(self, *, rotated: bool, rotations: Count) -> None:
        self.rotated, self.rotations = rotated, rotations

    def check(self, data: TextData) -> None:
        """Raise UserError if the words that are a single token do not include two words of two
        classes, for each classification.
        """
        for name, feature in features(whole_words(data)).items():
            sizes = Counter(feature.values()).values()
            if sum(size > 1 for size in sizes) < 2:
                raise UserError(
                    f"measure=embeddings compares words by their {name}, but too few of these "
                    "words are a single token: choose tokenizer=word or a larger vocabulary"
                )

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return how close words of a class are, and how well classes can be predicted.

        Returns:
            same_part_of_speech: probability that a word is closer (by cosine) to a word of the same
                part of speech than to a word of another part of speech with a similar frequency.
            same_meaning: the same probability for the classes living and thing of nouns, and for
                the classes body and mind of verbs; mean of the two.
            features: accuracy with which a regression predicts the classes, minus the frequency of
                the largest class; mean over the classifications of `features`.
            one_dimension: area under the ROC curve of the best dimension; mean over the
                classifications with two classes.
            words: number of words.
        """
        by_name = features(whole_words(data))
        forms = list(by_name["part_of_speech"])
        tokens = [row[0] for row in data.tokenizers.src.encode_batch(forms)]
        vectors = model.embedding.embed_src(torch.tensor([tokens]))[0].detach()
        counts = Counter(data.first_lines("train", LINES).inputs.src.flatten().tolist())
        places = {form: place for place, form in enumerate(forms)}

        def matrix(feature: dict[str, int]) -> tuple[Tensor, Tensor]:
            return vectors[[places[form] for form in feature]], torch.tensor([*feature.values()])

        def nearer(name: str) -> float:
            seen = [float(max(1, counts[tokens[places[form]]])) for form in by_name[name]]
            return neighbours(*matrix(by_name[name]), torch.tensor(seen))

        two = [matrix(feature) for feature in by_name.values() if max(feature.values()) == 1]
        probed = [above_largest_class(*matrix(feature)) for feature in by_name.values()]
        dimensions = [self.one_dimension(*feature) for feature in two]
        return {
            "same_part_of_speech": nearer("part_of_speech"),
            "same_meaning": (nearer("living") + nearer("mind")) / 2,
            "features": sum(probed) / len(probed),
            "one_dimension": sum(dimensions) / len(dimensions),
            "words": float(len(vectors)),
        }

    def one_dimension(self, x: Float[Tensor, "N D"], classes: Int[Tensor, " N"]) -> float:
        """Return the area under the ROC curve (0.5 to 1) of the dimension of the word vectors that
        separates two classes best.

        If `rotated`, return the mean of this area over random rotations of the vectors.
        """
        if not self.rotated:
            return best_dimension(x, classes == 1)
        generator = torch.Generator().manual_seed(stream(0, "Embeddings"))
        areas = []
        for _ in range(self.rotations):
            drawn = torch.randn(x.size(1), x.size(1), generator=generator, dtype=x.dtype)
            areas.append(best_dimension(x @ torch.linalg.qr(drawn).Q, classes == 1))
        return sum(areas) / len(areas)


def whole_words(data: TextData) -> set[str]:
    """Return the source words with a part of speech that are a single token."""
    forms = sorted({word.mirel for group in GROUPS for word in group})
    ids = data.tokenizers.src.encode_batch(forms)
    return {form for form, tokens in zip(forms, ids, strict=True) if len(tokens) == 1}


def features(words: set[str]) -> dict[str, dict[str, int]]:
    """Return classifications of words of the artificial source language, by name: the number of the
    class of each word.

    The names are part_of_speech, living (whether a noun is a living being), mind (whether a verb is
    about mind or body) and gender (of a noun).

    An ambiguous noun, whose form has two meanings, is classified by its part of speech alone.
    """
    doubtful = {noun.mirel for noun in AMBIGUOUS_NOUNS}
    nouns = [noun for noun in NOUNS if noun.mirel not in doubtful]
    genders = sorted({noun.gender for noun in nouns})
    domains = sorted({verb.domain for verb in VERBS})
    classes_of = {
        "part_of_speech": {word.mirel: i for i, group in enumerate(GROUPS) for word in group},
        "living": {noun.mirel: int(noun.animate) for noun in nouns},
        "mind": {verb.mirel: domains.index(verb.domain) for verb in VERBS},
        "gender": {noun.mirel: genders.index(noun.gender) for noun in nouns},
    }
    return {
        name: {form: classes[form] for form in sorted(classes.keys() & words)}
        for name, classes in classes_of.items()
    }


def neighbours(
    x: Float[Tensor, "N D"], classes: Int[Tensor, " N"], counts: Float[Tensor, " N"]
) -> float:
    """Return the mean probability that a word of the same class is closer (by cosine) than a word
    of another class.

    Only words of similar frequency are compared.

    Args:
        x: embedding of each word.
        classes: class number of each word.
        counts: frequency of each word in train.
    """
    unit = torch.nn.functional.normalize(x, dim=1)
    cosine, same = unit @ unit.T, classes[:, None] == classes
    same &= ~torch.eye(len(x), dtype=torch.bool)
    ratio = counts.log()[:, None] - counts.log()
    alike = ratio.abs() <= torch.tensor(LIKE).log()
    probabilities = []
    for i in range(len(x)):
        pairs = same[i][:, None] & (classes != classes[i]) & alike
        wins = (cosine[i][:, None] > cosine[i])[pairs]
        if len(wins):
            probabilities.append(float(wins.double().mean()))
    return float(torch.tensor(probabilities, dtype=x.dtype).mean())


def above_largest_class(x: Float[Tensor, "N D"], classes: Int[Tensor, " N"]) -> float:
    """Return the leave-one-out accuracy with which ridge regression predicts the classes, minus the
    frequency of the largest class.
    """
    z = (x - x.mean(0)) / x.std(0)
    z = torch.cat([z, torch.ones(len(z), 1, dtype=z.dtype)], 1)
    penalty = RIDGE * torch.eye(z.size(1), dtype=z.dtype)
    penalty[-1, -1] = 0  # the constant is not penalised
    hat = z @ torch.linalg.solve(z.T @ z + penalty, z.T)
    truth = torch.nn.functional.one_hot(classes).to(z.dtype)
    leverage = hat.diagonal()[:, None]
    left_out = (hat @ truth - leverage * truth) / (1 - leverage)
    right = (left_out.argmax(1) == classes).double().mean()
    return float(right - truth.mean(0).max())


def best_dimension(x: Float[Tensor, "N D"], positive: Bool[Tensor, " N"]) -> float:
    """Return the largest area under the ROC curve of any dimension, in either direction."""
    above = (x[positive][:, None] > x[~positive][None]).double().mean((0, 1))
    return float(torch.maximum(above, 1 - above).max())

"""Links and alignments of gold sentences are those of their trees."""

from random import Random

import pytest

from ablate.data.toy import USUAL, mirel, sodak
from ablate.data.toy.meaning import Speaker
from experiments.shared.measure.gold import gold
from lab.constructions import CONSTRUCTIONS


def test_aligned_words_have_one_gloss():
    speaker = Speaker(USUAL, Random(3))
    for _ in range(40):
        meaning = speaker.sentence()
        pair = gold(meaning)
        src = [token.gloss.partition("-")[0] for token in mirel.sentence(meaning)]
        glosses = [token.gloss.partition(".")[0] for token in sodak.sentence(meaning)]
        tgt = [gloss.removesuffix("-PL") for gloss in glosses]
        function = {"the", "a", "it", "and", "that", "which", "to"}
        assert all(src[j] in tgt[i].split("+") for i, j in pair.aligned)
        assert {j for _, j in pair.aligned} == {j for j, x in enumerate(src) if x not in function}


def linked(kind, construction, number):
    """Pairs of glosses that an example of a construction links."""
    entry = next(c for c in CONSTRUCTIONS if c.name.startswith(construction))
    meaning = entry.examples[number]
    glosses = [token.gloss for token in mirel.sentence(meaning)]
    return [(glosses[i], glosses[j]) for i, j in gold(meaning).links[kind]]


@pytest.mark.parametrize(
    ("kind", "construction", "number", "pairs"),
    [
        ("verb_subject", "Place", 0, [("sleep", "woman-PL")]),
        (
            "verb_subject",
            "Relative clause with the subject",
            0,
            [("fall", "horse"), ("fear", "horse")],
        ),
        ("verb_subject", "Pronoun", 0, [("see", "dog"), ("sleep", "it")]),
        ("pronoun", "Pronoun", 1, [("it", "horse")]),
        ("ambiguous_noun", "Ambiguous noun", 1, [("answer", "forget")]),
    ],
)
def test_links_follow_the_tree(kind, construction, number, pairs):
    assert linked(kind, construction, number) == pairs

"""Links and alignments of gold sentences are those of their trees."""

from random import Random

from ablate.data.toy import USUAL
from ablate.data.toy.grammar import MIREL, SODAK, Speaker
from experiments.shared.measure.gold import gold


def test_aligned_words_have_one_gloss():
    speaker = Speaker(USUAL, Random(3))
    for _ in range(40):
        meaning = speaker.sentence()
        pair = gold(meaning)
        src = [token.gloss.partition("-")[0] for token in MIREL.sentence(meaning)]
        glosses = [token.gloss.partition(".")[0] for token in SODAK.sentence(meaning)]
        tgt = [gloss.removesuffix("-PL") for gloss in glosses]
        function = {"the", "a", "it", "and", "that", "which", "to"}
        assert all(src[j] in tgt[i].split("+") for i, j in pair.aligned)
        assert {j for _, j in pair.aligned} == {j for j, x in enumerate(src) if x not in function}

"""What measures find in weights that are known."""

import torch

from experiments.cross_attention_alignment.measure import rightly, shares
from experiments.shared.measure.gold import sentences
from experiments.shared.measure.words import between_words


def test_a_word_has_the_mean_of_its_tokens_and_is_given_their_sum():
    weights = torch.tensor([[[0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0]]])
    words = [(0, 1), (1, 3)]
    expected = torch.tensor([[[0.1, 0.9], [0.65, 0.35]]])
    torch.testing.assert_close(between_words(weights, words, words), expected)


def test_alignments_are_held_against_the_trees():
    gold = sentences("test", 20)
    attention = []
    for pair in gold:
        weights = torch.zeros(len(pair.tgt), len(pair.src))
        for i, j in pair.aligned:
            weights[i, j] = 1
        attention.append(weights)
    assert shares(attention, gold) == {"aligned": 1.0, "aligned_off_diagonal": 1.0}
    turned = [weights.roll(1, 1) for weights in attention]
    assert rightly(turned, gold).mean() < 0.2

"""What measures find in weights that are known."""

import pytest
import torch

from experiments.cross_attention_alignment.measure import rightly, shares
from experiments.shared.measure.gold import Gold, sentences
from experiments.shared.measure.links import offset_links
from experiments.shared.measure.words import between_words, hits
from experiments.what_embeddings_learn.measure import (
    above_largest_class,
    best_dimension,
)
from experiments.what_heads_do.heads import profiles_apart


@pytest.fixture
def random():
    return torch.Generator().manual_seed(1)


def test_a_word_has_the_mean_of_its_tokens_and_is_given_their_sum():
    weights = torch.tensor([[[0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [1.0, 0.0, 0.0]]])
    words = [(0, 1), (1, 3)]
    expected = torch.tensor([[[0.1, 0.9], [0.65, 0.35]]])
    torch.testing.assert_close(between_words(weights, words, words), expected)


def test_only_the_head_that_points_at_the_links_finds_them():
    links = [[(0, 2), (1, 0)], [(2, 1)]]
    attention = [torch.full((3, 3, 3), 0.1) for _ in links]
    for weights, pairs in zip(attention, links, strict=True):
        weights[2] = torch.eye(3)  # a head that looks at each word itself is asked for its second
        for i, j in pairs:
            weights[1, i, j] = 0.5
    hit_rates = hits(attention, links).tolist()
    assert hit_rates[1] == 1.0
    assert hit_rates[0] < 1.0


def test_the_best_fixed_distance_is_that_of_other_sentences():
    def make_gold(*pairs):
        return Gold([], [], dict.fromkeys(("verb_subject", "pronoun", "ambiguous_noun"), pairs), [])

    chosen, judged = (
        (make_gold((3, 2), (2, 1), (4, 1)),),
        (make_gold((5, 4), (5, 3), (5, 3), (5, 3)),),
    )
    assert offset_links(chosen, judged)["pronoun"] == 0.25


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


def test_a_class_in_a_direction_is_read_and_one_in_a_dimension_seen(random):
    classes = torch.arange(60) % 2
    noise = torch.randn(60, 8, generator=random, dtype=torch.float64)
    spread = noise + 2 * classes[:, None]
    assert abs(above_largest_class(noise, classes)) < 0.2
    assert above_largest_class(spread, classes) > 0.4
    single = noise + 5 * classes[:, None] * torch.eye(8)[3]
    turn = torch.linalg.qr(torch.randn(8, 8, generator=random, dtype=torch.float64)).Q
    assert best_dimension(single, classes == 1) > 0.99 > best_dimension(single @ turn, classes == 1)


def test_habits_count_and_chance_does_not(random):
    real = torch.ones(6, 9, dtype=torch.bool)
    chance = torch.rand(6, 4, 9, 9, generator=random, dtype=torch.float64).softmax(-1)
    assert abs(profiles_apart(chance, real)) < 0.01
    habits = chance.clone()
    habits[:, 0] = torch.eye(9)  # one head always looks at the word itself
    assert profiles_apart(habits, real) > 0.1

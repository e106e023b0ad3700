"""What measures find in weights that are known."""

import math

import pytest
import torch

from experiments.cross_attention_alignment.measure import rightly, shares
from experiments.positions_inside.measure import linear_r2, share_of_groups
from experiments.shared.measure.gold import Gold, sentences
from experiments.shared.measure.links import offset_links
from experiments.shared.measure.words import between_words, hits
from experiments.what_embeddings_learn.measure import (
    above_largest_class,
    best_dimension,
    neighbours,
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


def test_neighbours_of_one_class_are_near_where_classes_are(random):
    classes = torch.arange(40) % 2
    counts = torch.full((40,), 9.0)
    noise = torch.randn(40, 8, generator=random, dtype=torch.float64)
    assert neighbours(noise, classes, counts) == pytest.approx(0.5, abs=0.05)
    clustered = noise + 9 * torch.nn.functional.one_hot(classes, 8)
    assert neighbours(clustered, classes, counts) > 0.95
    assert math.isnan(
        neighbours(clustered, classes, counts + 90 * classes)
    )  # none of like frequency


def test_a_class_in_a_direction_is_read_and_one_in_a_dimension_seen(random):
    classes = torch.arange(60) % 2
    noise = torch.randn(60, 8, generator=random, dtype=torch.float64)
    spread = noise + 2 * classes[:, None]
    assert abs(above_largest_class(noise, classes)) < 0.2
    assert above_largest_class(spread, classes) > 0.4
    single = noise + 5 * classes[:, None] * torch.eye(8)[3]
    turn = torch.linalg.qr(torch.randn(8, 8, generator=random, dtype=torch.float64)).Q
    assert best_dimension(single, classes == 1) > 0.99 > best_dimension(single @ turn, classes == 1)


def test_a_linear_place_is_read_on_other_rows(random):
    x = torch.randn(300, 5, generator=random, dtype=torch.float64)
    place = x @ torch.arange(5.0, dtype=torch.float64)
    assert linear_r2((x[:200], place[:200]), (x[200:], place[200:])) > 0.99
    other = torch.randn(300, generator=random, dtype=torch.float64)
    assert linear_r2((x[:200], other[:200]), (x[200:], other[200:])) < 0.1
    groups = torch.arange(300) % 3
    assert share_of_groups(groups.double(), groups) == pytest.approx(1)
    assert share_of_groups(other, groups) < 0.05


def test_habits_count_and_chance_does_not(random):
    real = torch.ones(6, 9, dtype=torch.bool)
    chance = torch.rand(6, 4, 9, 9, generator=random, dtype=torch.float64).softmax(-1)
    assert abs(profiles_apart(chance, real)) < 0.01
    habits = chance.clone()
    habits[:, 0] = torch.eye(9)  # one head always looks at the word itself
    assert profiles_apart(habits, real) > 0.1

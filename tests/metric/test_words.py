"""Right words and their order are counted apart."""

import pytest

from ablate.metric.corpus import WordScore, order_counts, shared, shared_stems


def score(count, *pairs):
    metric = WordScore(count)
    for pair in pairs:  # in batches of one sentence
        metric.update(metric.statistics(*([text] for text in pair)))
    return float(metric.compute())


def test_a_bag_of_the_right_words_is_all_right_and_in_no_order():
    same = "dor hesp jan glish shentot"
    assert score(shared, (same, same)) == score(order_counts, (same, same)) == 1
    assert score(shared, ("shentot glish jan hesp dor", same)) == 1
    assert score(order_counts, ("shentot glish jan hesp dor", same)) == -1
    assert score(order_counts, ("glish dor hesp jan shentot", same)) == pytest.approx((7 - 3) / 10)


def test_a_wrong_ending_is_a_right_stem():
    pair = "dar hesp shentat", "dor hesp shentot"
    assert score(shared, pair) == pytest.approx(1 / 3)
    assert score(shared_stems, pair) == 1


def test_words_are_shared_as_often_as_both_have_them():
    assert score(shared, ("a a a b", "a b b c")) == pytest.approx(4 / 8)
    assert score(order_counts, ("a a b c", "c b a d")) == -1  # of b and c alone: a is there twice


def test_long_sentences_count_for_more():
    assert score(shared, ("a b c d", "a b c d"), ("x", "y")) == pytest.approx(8 / 10)

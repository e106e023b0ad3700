"""How numbers, metrics and text are said."""

import pytest

from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import interpretation, percent, text
from ablate.words.answer import interval_text


@pytest.mark.parametrize(
    ("metric", "axis"),
    [
        ("test_long/bleu", "BLEU on long test sequences (points)"),
        ("val/nll", "validation nll (nats per token)"),
        ("parameters", "parameters (count)"),
        ("probe/something_new", "probe/something new"),
    ],
)
def test_metrics_have_names_and_units(metric, axis):
    assert metric_of(metric).axis.startswith(axis)


@pytest.mark.parametrize(
    ("metric", "value", "printed"),
    [
        ("test/bleu", 53.156, "53.16"),
        ("test/nll", 0.5364, "0.536"),
        ("test/nll", 1.2e-5, "1.2e-05"),
        ("parameters", 278272.0, "278,272"),
        ("test/bleu", -0.0, "0.00"),
        ("test/bleu", None, "-"),
    ],
)
def test_numbers_have_the_digits_that_are_worth_printing(metric, value, printed):
    assert metric_of(metric).say(value) == printed


def test_an_interval_that_ends_at_0_has_no_negative_0():
    assert interval_text([0.0, 1.0], 0.95, metric_of("test/nll"), -1) == "95 % CI -1.000 to 0.000"


def test_confidence_levels_are_not_rounded():
    alphas = (0.05, 0.1, 0.07, 0.025, 0.005, 0.0001)
    assert [percent(1 - alpha) for alpha in alphas] == ["95", "90", "93", "97.5", "99.5", "99.99"]


def test_what_is_no_markup_stays_readable():
    assert text("d_model / n_heads, 2 * 3") == "d_model / n_heads, 2 \\* 3"
    assert text("- one\n- two") == "\\- one - two"
    assert text("2. point") == "2\\. point"
    assert text("arXiv:1706.03762.") == "[arXiv:1706.03762](https://arxiv.org/abs/1706.03762)."


def test_a_reading_is_shown_where_two_claims_have_the_same_statement():
    same = [{"statement": "BLEU rises.", "reading": reading} for reading in ("early", "late")]
    alone = {"statement": "BLEU falls.", "reading": "late"}
    plain = {"statement": "BLEU rises."}
    claims = [*same, alone, plain]
    assert [interpretation(claim, claims) for claim in claims] == ["early", "late", "", ""]


def test_a_name_that_explains_its_values_in_brackets_has_no_second_brackets():
    assert metric_of("test/skill").axis == "test skill (0 is chance, 1 the best possible)"
    named = metric_in_words("test/skill", "the skill (0 is chance, 1 perfect)")
    assert named.axis == "the skill (0 is chance, 1 perfect)"

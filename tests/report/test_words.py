"""How numbers, metrics and text are said."""

import pytest

from ablate.metric import metric_of
from ablate.phrases import interpretation, percent


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


def test_confidence_levels_are_not_rounded():
    alphas = (0.05, 0.1, 0.07, 0.025, 0.005, 0.0001)
    assert [percent(1 - alpha) for alpha in alphas] == ["95", "90", "93", "97.5", "99.5", "99.99"]


def test_a_reading_is_shown_where_two_claims_have_the_same_statement():
    same = [{"statement": "BLEU rises.", "reading": reading} for reading in ("early", "late")]
    alone = {"statement": "BLEU falls.", "reading": "late"}
    plain = {"statement": "BLEU rises."}
    claims = [*same, alone, plain]
    assert [interpretation(claim, claims) for claim in claims] == ["early", "late", "", ""]

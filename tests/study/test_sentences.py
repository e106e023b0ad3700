"""BLEU as a mean over sentences: agreement with corpus scores and their bootstrap."""

import numpy as np
import pytest

from ablate.evidence.folder import bleu, contributions
from ablate.metric.corpus import CorpusBleu, Scoring, bleu_from_statistics

WORDS = list("abcdefghijklmnop")


def translations(n, noise, rng):
    references = [rng.choice(WORDS, rng.integers(5, 12)).tolist() for _ in range(n)]
    wrong = [[w if rng.random() > noise else "x" for w in words] for words in references]
    return [" ".join(words) for words in wrong], [" ".join(words) for words in references]


@pytest.fixture
def rows():
    hypotheses, references = translations(400, 0.15, np.random.default_rng(0))
    return CorpusBleu(Scoring()).statistics(hypotheses, references)


def test_the_mean_is_corpus_bleu(rows):
    assert contributions(rows).mean() == pytest.approx(bleu_from_statistics(rows.sum(0)))
    assert bleu(rows) == pytest.approx(bleu_from_statistics(rows.sum(0)))


def test_the_spread_is_that_of_a_bootstrap_of_sentences(rows):
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), 3000)
    scores = [bleu_from_statistics(sums) for sums in drawn @ rows]
    assert contributions(rows).std() / len(rows) ** 0.5 == pytest.approx(np.std(scores), rel=0.05)


def test_smoothed_orders_keep_the_mean():
    rows = np.array([[6, 8, 4, 2, 0, 0, 6, 5, 4, 3], [5, 5, 3, 0, 0, 0, 5, 4, 3, 2]])
    assert contributions(rows).mean() == pytest.approx(bleu_from_statistics(rows.sum(0)))

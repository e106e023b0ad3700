"""BLEU as a mean over sentences: agreement with sacreBLEU's own scores and resampling."""

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

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


def test_the_difference_of_one_seed_agrees_with_sacrebleus_paired_bootstrap():
    rng = np.random.default_rng(2)
    better, references = translations(300, 0.12, rng)
    worse = [" ".join(w if rng.random() > 0.08 else "x" for w in s.split()) for s in better]
    systems = [("baseline", worse), ("better", better)]
    scorer = {"BLEU": BLEU(tokenize="none", force=True, references=[references])}
    _, scores = PairedTest(systems, scorer, [references], test_type="bs", n_samples=3000)()
    baseline, other = scores["BLEU"]
    count = CorpusBleu(Scoring())
    parts = contributions(count.statistics(better, references))
    parts = parts - contributions(count.statistics(worse, references))
    assert parts.mean() == pytest.approx(other.score - baseline.score, abs=0.01)
    z = parts.mean() / (parts.std(ddof=1) / len(parts) ** 0.5)
    assert z > 3  # where our standard error says so ...
    assert other.p_value < 0.005  # ... sacreBLEU's test agrees
    assert sacrebleu.corpus_bleu(better, [references]).score == pytest.approx(other.score, abs=0.5)

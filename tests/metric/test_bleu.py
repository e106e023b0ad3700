import logging

import numpy as np
import pytest
import sacrebleu

from ablate.metric.bleu import CorpusBleu, bleu_from_statistics, bleu_of_resamples
from ablate.metric.scoring import Cased, Tokenised


def test_cased_equals_sacrebleu_whatever_the_batches(corpus):
    hypotheses, references = corpus
    metric = CorpusBleu(Cased())
    for first in range(0, len(hypotheses), 7):
        rows = slice(first, first + 7)
        metric.update(metric.statistics(hypotheses[rows], references[rows]))
    assert metric.compute().item() == sacrebleu.corpus_bleu(hypotheses, [references]).score > 0


def test_tokenised_equals_sacrebleu_on_prepared_lines(corpus):
    hypotheses, references = corpus
    scoring = Tokenised("de")
    metric = CorpusBleu(scoring)
    metric.update(metric.statistics(hypotheses, references))
    lines = [[scoring.prepare(line) for line in side] for side in corpus]
    known = sacrebleu.corpus_bleu(lines[0], [lines[1]], tokenize="none", force=True)
    assert metric.compute().item() == known.score
    assert metric.compute().item() != sacrebleu.corpus_bleu(hypotheses, [references]).score


def test_tokenised_follows_moses():
    assert Tokenised("de").prepare("Der Hund, „z.B. Rex“, läuft.") == (
        'der hund , " z.b. rex " , läuft .'
    )
    assert Tokenised("en").prepare("The dog's ball") == "the dog 's ball"


def test_tokenised_takes_unknown_language_codes():
    assert Tokenised("xx").prepare("Lo  Mi, tu.") == "lo mi , tu ."


def test_signatures_name_the_scoring():
    assert "case:mixed|eff:no|tok:13a|smooth:exp|version:" in CorpusBleu(Cased()).signature
    assert "tok:none" in CorpusBleu(Tokenised("de")).signature


def test_unequal_lengths_are_an_error():
    with pytest.raises(ValueError):
        CorpusBleu(Cased()).statistics(["a", "b"], ["a"])


def test_no_sentence_adds_nothing(corpus):
    metric = CorpusBleu(Cased())
    metric.update(metric.statistics(*corpus))
    before = metric.compute().item()
    metric.update(metric.statistics([], []))
    assert metric.compute().item() == before


@pytest.mark.parametrize("hypothesis", ["", "zzz", "Hund"])
def test_hopeless_hypotheses_score_what_sacrebleu_says(hypothesis):
    metric = CorpusBleu(Cased())
    metric.update(metric.statistics([hypothesis], ["Der Hund läuft ."]))
    assert (
        metric.compute().item() == sacrebleu.corpus_bleu([hypothesis], [["Der Hund läuft ."]]).score
    )


def test_no_warning_is_logged_about_tokenised_text(caplog):
    with caplog.at_level(logging.DEBUG):
        CorpusBleu(Tokenised("de")).statistics(["ein Hund ."] * 120, ["ein Hund ."] * 120)
    assert not caplog.records


def test_resamples_agree_with_sacrebleu(corpus):
    rows = CorpusBleu(Cased()).statistics(*corpus)
    rng = np.random.default_rng(0)
    sums = np.array([rows[rng.integers(len(rows), size=size)].sum(0) for size in range(1, 400)])
    known = [bleu_from_statistics(row) for row in sums]
    assert np.abs(bleu_of_resamples(sums) - known).max() < 1e-9
    assert len(set(known)) > 300


def test_resamples_of_single_sentences_agree_with_sacrebleu(corpus):
    rows = CorpusBleu(Cased()).statistics(*corpus)
    known = [sacrebleu.corpus_bleu([hyp], [[ref]]).score for hyp, ref in zip(*corpus, strict=True)]
    assert np.abs(bleu_of_resamples(rows) - known).max() < 1e-9
    assert min(known) == 0 < max(known)  # whole orders are missing in some

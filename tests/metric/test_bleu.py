import numpy as np
import pytest
import sacrebleu

from ablate.config.settle import bleu_tokenizer
from ablate.metric.corpus import (
    CorpusBleu,
    Scoring,
    Tokenised,
    as_in_papers,
    bleu_from_statistics,
    bleu_of_resamples,
    doubt,
)


def test_cased_equals_sacrebleu_whatever_the_batches(corpus):
    hypotheses, references = corpus
    metric = CorpusBleu(Scoring())
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
    expected = sacrebleu.corpus_bleu(lines[0], [lines[1]], tokenize="none", force=True)
    assert metric.compute().item() == expected.score
    assert metric.compute().item() != sacrebleu.corpus_bleu(hypotheses, [references]).score


def test_signatures_name_the_scoring():
    assert "case:mixed|eff:no|tok:13a|smooth:exp|version:" in CorpusBleu(Scoring()).signature
    signature = CorpusBleu(Tokenised("de")).signature
    assert "case:lc|eff:no|tok:moses-de-normalised-" in signature and "none" not in signature
    assert "case:lc|eff:no|tok:zh|" in CorpusBleu(as_in_papers("zh", "zh")).signature
    assert "tok:moses-de" in CorpusBleu(as_in_papers("de", "intl")).signature


@pytest.mark.parametrize(
    ("language", "by"),
    [
        *(("de", "13a"), ("qso", "13a"), ("zh-TW", "zh"), ("cmn", "zh"), ("ja_JP", "ja-mecab")),
        *(("ko", "ko-mecab"), ("th", "flores200"), ("", "13a")),
    ],
)
def test_the_tokeniser_follows_the_language(language, by):
    assert bleu_tokenizer("auto", language) == by
    assert bleu_tokenizer("char", language) == "char"


CHINESE = ["我们今天去学校看书。", "他在河边吃苹果。", "老师说这本书很好看。"]


def test_chinese_is_counted_in_characters_and_no_clause_is_a_word():
    worse = ["我们今天去学校睡觉。", "他在河边喝水。", "老师说那本书不好看。"]
    scores = {}
    for by in ("zh", "13a"):
        metric = CorpusBleu(Scoring(by))
        metric.update(metric.statistics(worse, CHINESE))
        scores[by] = metric.compute().item()
    assert scores["13a"] == 0
    assert 20 < scores["zh"] < 100
    lowered = as_in_papers("zh", "zh")
    assert lowered.prepare("我是Ann。") == "我是ann。"


def test_a_score_that_means_nothing_is_doubted():
    assert "100%" in doubt(CorpusBleu(Scoring()), CHINESE)
    assert doubt(CorpusBleu(Scoring("zh")), CHINESE) == ""
    assert doubt(CorpusBleu(Scoring()), ["Der Hund läuft schnell ."] * 3) == ""
    assert doubt(CorpusBleu(Scoring()), []) == ""


def test_resamples_agree_with_sacrebleu(corpus):
    rows = CorpusBleu(Scoring()).statistics(*corpus)
    rng = np.random.default_rng(0)
    sums = np.array([rows[rng.integers(len(rows), size=size)].sum(0) for size in range(1, 400)])
    expected = [bleu_from_statistics(row) for row in sums]
    assert np.abs(bleu_of_resamples(sums) - expected).max() < 1e-9
    assert len(set(expected)) > 300

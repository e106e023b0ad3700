import pytest
import sacrebleu

from ablate.metric.chrf import CorpusChrf


def test_equals_sacrebleu_whatever_the_batches(corpus):
    hypotheses, references = corpus
    metric = CorpusChrf()
    for first in range(0, len(hypotheses), 7):
        rows = slice(first, first + 7)
        metric.update(metric.statistics(hypotheses[rows], references[rows]))
    assert metric.compute().item() == sacrebleu.corpus_chrf(hypotheses, [references]).score > 0


def test_statistics_are_one_row_of_counts_per_sentence(corpus):
    rows = CorpusChrf().statistics(*corpus)
    assert rows.shape == (61, 18)
    assert rows.dtype.kind == "i"
    assert (rows[:, 2::3] <= rows[:, 0::3]).all()


def test_signature_is_sacrebleus():
    assert CorpusChrf().signature.startswith(
        "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:"
    )


def test_unequal_lengths_are_an_error():
    with pytest.raises(ValueError):
        CorpusChrf().statistics(["a"], [])

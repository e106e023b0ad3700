import sacrebleu

from ablate.metric.corpus import CorpusChrf


def test_equals_sacrebleu_whatever_the_batches(corpus):
    hypotheses, references = corpus
    metric = CorpusChrf()
    for first in range(0, len(hypotheses), 7):
        rows = slice(first, first + 7)
        metric.update(metric.statistics(hypotheses[rows], references[rows]))
    assert metric.compute().item() == sacrebleu.corpus_chrf(hypotheses, [references]).score > 0

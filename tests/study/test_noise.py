"""The noise of a corpus, from the records of a sweep."""

import numpy as np
import pytest
import sacrebleu

from ablate.errors import UserError
from ablate.metric.bleu import CorpusBleu
from ablate.metric.scoring import Cased
from ablate.study.noise import noise, sentence_error
from ablate.sweep.cell import write_link

SENTENCES = ["a b c d e f", "g h i j k l", "m n o p q r s", "t u v w x y z"] * 10
GUESSES = ["a b c d x f", "g h i j k l", "m n o p", "t u v z x y w"] * 10


def test_the_sentence_error_is_that_of_a_plain_bootstrap(tmp_path):
    rows = CorpusBleu(Cased()).statistics(GUESSES, SENTENCES)
    np.savez(tmp_path / "test.stats.npz", bleu=rows)
    rng = np.random.default_rng(1)
    plain = []
    for _ in range(400):
        drawn = rng.integers(0, len(rows), len(rows))
        hypotheses = [GUESSES[i] for i in drawn]
        plain.append(sacrebleu.corpus_bleu(hypotheses, [[SENTENCES[i] for i in drawn]]).score)
    found = sentence_error(tmp_path, np.random.default_rng(0))
    assert found == pytest.approx(np.std(plain), rel=0.15)


def test_arms_are_told_apart(tmp_path):
    rows = CorpusBleu(Cased()).statistics(GUESSES, SENTENCES)
    np.savez(tmp_path / "test.stats.npz", bleu=rows)
    for number, (arm, bleu) in enumerate([("a", 10.0), ("a", 12.0), ("b", 50.0)]):
        metrics = {"metrics": {"test/bleu": bleu}, "status": "finished", "folder": str(tmp_path)}
        write_link(tmp_path, number, [f"model={arm}", f"seed={number}"], metrics)
    found = noise(tmp_path)
    assert found["a"]["mean"] == 11.0
    assert found["a"]["between_seeds"] == pytest.approx(2**0.5)
    assert found["b"]["seeds"] == 1


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(UserError, match="not the folder of a sweep"):
        noise(tmp_path)

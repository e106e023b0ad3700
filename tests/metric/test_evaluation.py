"""What a test measures beyond what validation does."""

from unittest.mock import create_autospec

import pytest
import torch

from ablate.data.batching import Batch
from ablate.data.scheme import Byte
from ablate.data.tokenizer import Tokenizers
from ablate.metric.tokens import Predictions
from ablate.model.base import Model, Seq2Seq
from ablate.search import Search
from ablate.task import Text
from ablate.task.translation import Translations


@pytest.mark.parametrize("thorough", [False, True])
def test_names_of_the_scores(thorough):
    evaluation = Translations("de", thorough=thorough)
    nll, confidence = torch.tensor(1.5), torch.tensor([0.25, 0.75])
    evaluation.read(Predictions(nll, nll.expand(2), confidence, torch.tensor([True, False])))
    evaluation.add(torch.tensor([0]), ["a b c d e"], ["a b c d f g"])
    evaluation.end(torch.tensor([5, 9, 0]), torch.tensor([9, 9, 1]))
    evaluation.passes.update(torch.tensor(0.0), 0)  # of a search that counts no passes
    scores = evaluation.compute()
    more = {"bleu_tokenised", "chrf", "length_ratio", "calibration_error", "accuracy", "unended"}
    more |= {"word_f1", "stem_f1", "word_order"}
    assert set(scores) == {"nll", "bleu"} | (more if thorough else set())
    assert scores["nll"] == 1.5
    if thorough:
        assert scores["accuracy"] == 0.5
        assert scores["calibration_error"] == 0.75
        assert scores["length_ratio"] == 5 / 6
        assert scores["unended"] == pytest.approx(1 / 3)
    evaluation.reset()
    assert evaluation.nll.count == evaluation.calibration.count.sum() == 0


def test_a_translation_with_a_line_feed_is_stored_as_one_line(monkeypatch):
    tokenizers = Tokenizers.train(Byte(joint=True), (["a"], ["a"]))
    model, search = (create_autospec(kind, instance=True) for kind in (Model, Search))
    ids = tokenizers.tgt.encode_batch(["a\nb"])
    model.head = None
    search.return_value, search.steps, search.limits.return_value = ids, None, torch.tensor([9])
    text = Text(tokenizers, ("en", "de"), ["a b"], None)
    row = torch.tensor([ids[0]])
    batch = Batch(inputs=Seq2Seq(row, row), targets=row, lines=torch.tensor([0]))
    evaluation = Translations("de", thorough=True)
    monkeypatch.setattr("ablate.task.translation.predictions", lambda *given: None)
    monkeypatch.setattr(evaluation, "read", lambda scores: None)
    evaluation.update(model, batch, search, text)
    assert evaluation.rows[0][0] == "a b"

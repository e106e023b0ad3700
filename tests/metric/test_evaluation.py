"""What a test measures beyond what validation does."""

import pytest
import torch

from ablate.task import Predictions
from ablate.task.translation import Translations


@pytest.mark.parametrize("for_tests", [False, True])
def test_names_of_the_scores(for_tests):
    evaluation = Translations("de", for_tests=for_tests)
    nll, confidence = torch.tensor(1.5), torch.tensor([0.25, 0.75])
    evaluation.read(Predictions(nll, nll.expand(2), confidence, torch.tensor([True, False])))
    evaluation.add(torch.tensor([0]), ["a b c d e"], ["a b c d f g"])
    evaluation.end(torch.tensor([5, 9, 0]), torch.tensor([9, 9, 1]))
    evaluation.passes.update(torch.tensor(0.0), 0)  # of a search that counts no passes
    scores = evaluation.compute()
    more = {"bleu_tokenised", "chrf", "length_ratio", "calibration_error", "accuracy", "unended"}
    more |= {"word_f1", "stem_f1", "word_order"}
    assert set(scores) == {"nll", "bleu"} | (more if for_tests else set())
    assert scores["nll"] == 1.5
    if for_tests:
        assert scores["accuracy"] == 0.5
        assert scores["calibration_error"] == 0.75
        assert scores["length_ratio"] == 5 / 6
        assert scores["unended"] == pytest.approx(1 / 3)
    evaluation.reset()
    assert evaluation.nll.count == evaluation.calibration.count.sum() == 0

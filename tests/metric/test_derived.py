"""Scores that follow from others."""

import pytest

from ablate.metric import derived_metrics

LEVELS = {"chance/accuracy": 0.25, "bound/accuracy": 0.75, "chance/nll": 1.0, "bound/nll": 0.0}


def test_where_chance_is_the_bound_there_is_no_skill():
    levels = {"chance/accuracy": 0.25, "bound/accuracy": 0.25}
    assert derived_metrics({"test/accuracy": 0.25}, levels) == {}


def test_skill_is_0_at_chance_and_1_at_the_bound():
    for accuracy, skill in ((0.25, 0), (0.75, 1), (0.5, 0.5)):
        assert derived_metrics({"test/accuracy": accuracy}, LEVELS) == {"test/skill": skill}


def test_a_gap_is_what_is_worse_on_test():
    scores = {"train/nll": 1.0, "test/nll": 3.0, "train/bleu": 90.0, "test/bleu": 30.0}
    assert derived_metrics(scores, {}) == {"gap/nll": 2.0, "gap/bleu": 60.0}


@pytest.mark.parametrize("scores", [{"test/nll": 1.0}, {"val/nll": 1.0, "test/nll": 1.0}, {}])
def test_without_training_sentences_there_is_no_gap(scores):
    assert derived_metrics(scores, {}) == {}

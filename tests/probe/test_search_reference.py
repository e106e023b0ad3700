"""Searches against enumeration: equal when they are right, and not when they are broken."""

import pytest
import torch

from ablate.errors import UserError


@pytest.fixture
def probed(measure):
    small = {"draws": 3, "length": 4, "words": 3, "longest": 3}
    return lambda **keys: measure("search_reference", **{**small, **keys})


def test_searches_are_their_references_and_other_accounts_are_not(probed):
    metrics = probed()
    right = ("greedy", "beam_one", "beam_two", "exhaustive", "kept", "missing")
    assert not any(metrics[name] for name in right)
    wrong = ("greedy_control", "beam_one_large", "branching", "first_word", "gap")
    wrong += ("beam_two_control", "kept_control", "missing_control")
    assert all(metrics[name] > 0 for name in wrong)


def test_a_search_that_takes_the_second_best_is_seen(probed, monkeypatch):
    from ablate.search import beam, greedy
    from ablate.search.largest import largest

    def worse(values, k):
        top, column = largest(values, min(k + 1, values.size(1)))
        return top[:, -k:].contiguous(), column[:, -k:].contiguous()

    for module in (beam, greedy):
        monkeypatch.setattr(module, "largest", worse)
    metrics = probed()
    assert min(metrics[name] for name in ("greedy", "beam_one", "beam_two")) > 0.2


def test_controls_are_what_a_beam_that_is_too_small_measures(probed, monkeypatch):
    from experiments.search_reference import probe as search_reference

    expected, plain = probed(), search_reference.n_best

    def smaller(beam, *given):
        beam.size = 1
        return plain(beam, *given)

    monkeypatch.setattr(search_reference, "n_best", smaller)
    metrics = probed()
    for name in ("beam_two", "kept", "missing"):
        assert metrics[name] == metrics[f"{name}_control"] == expected[f"{name}_control"] > 0


def test_a_beam_that_keeps_one_only_is_seen(probed, monkeypatch):
    from ablate.search.beam import Beams

    advance = Beams.advance

    def first_only(self, logits):
        rows = advance(self, logits)
        self.score[:, 1:] = -torch.inf
        return rows

    monkeypatch.setattr(Beams, "advance", first_only)
    assert probed()["beam_two"] > 0.2


def test_enumeration_must_end(probed):
    with pytest.raises(UserError, match=r"probe\.words=6: it must be at least 2 and at most 5"):
        probed(words=6)

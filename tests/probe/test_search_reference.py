"""Searches against enumeration: equal when they are right, and not when they are broken."""

import pytest


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
    from ablate import search
    from ablate.search import beam, largest

    def worse(values, k):
        top, column = largest(values, min(k + 1, values.size(1)))
        return top[:, -k:].contiguous(), column[:, -k:].contiguous()

    for module in (beam, search):
        monkeypatch.setattr(module, "largest", worse)
    metrics = probed()
    assert min(metrics[name] for name in ("greedy", "beam_one", "beam_two")) > 0.2

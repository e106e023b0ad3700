import itertools
import math

import torch

from ablate.task import TokenMean


def mean_of(batches) -> float:
    metric = TokenMean()
    for mean, count in batches:
        metric.update(torch.tensor(mean), count)
    return metric.compute().item()


def test_batches_are_weighted_by_their_tokens():
    assert mean_of([(1.0, 3), (5.0, 1)]) == 2.0


def test_order_changes_no_bit():
    batches = [(1 / 3, 4093), (7.1, 8191), (0.0313, 3), (11.7, 65521)]
    assert len({mean_of(order) for order in itertools.permutations(batches)}) == 1


def test_batch_without_tokens_adds_nothing():
    assert mean_of([(2.0, 5), (math.nan, 0)]) == 2.0


def test_nan_and_infinity_stay_visible():
    assert math.isnan(mean_of([(2.0, 5), (math.nan, 1)]))
    assert mean_of([(2.0, 5), (math.inf, 1)]) == math.inf

"""How different heads are, by hand and by scipy."""

import pytest
import torch
from scipy.spatial.distance import jensenshannon

from experiments.what_heads_do.heads import distance


def test_as_in_scipy_over_real_queries_only():
    random = torch.Generator().manual_seed(0)
    heads = torch.rand(2, 3, 4, 5, generator=random).softmax(-1)
    real = torch.tensor([[True, True, False, False], [True, True, True, True]])
    expected = [
        jensenshannon(heads[b, i, q], heads[b, j, q], base=2) ** 2
        for b, q in real.nonzero().tolist()
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert distance(heads, real) == pytest.approx(sum(expected) / len(expected), rel=1e-5)

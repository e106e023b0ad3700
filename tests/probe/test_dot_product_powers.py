"""The probe of dot products and of what one head can do."""

import pytest
import torch


@torch.no_grad()
def test_the_worst_word_is_worse_than_any_of_many():
    from experiments.dot_product_powers.probe import scores, three_maps, worst
    from experiments.shared.probe.divided_heads import with_heads

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, generator=generator, dtype=torch.float64)
    vectors = torch.randn(10_000, 3, generator=generator, dtype=torch.float64)
    vectors *= x.norm() / vectors.norm(dim=1, keepdim=True)
    for attention in three_maps(with_heads(3, 1, 3, generator)):
        best = (scores(attention, x, vectors) - scores(attention, x, x)).max()
        assert best <= worst(attention, x) + 1e-12
        assert best == pytest.approx(worst(attention, x), abs=0.1)

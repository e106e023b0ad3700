"""Test positions of a learned size."""

import pytest
import torch
from scaled_positions.scaled import Scaled

from ablate.model.position.added import Sinusoidal

SINUSOIDS = {"d_model": 8, "layout": "interleaved", "spacing": "half"}


@pytest.mark.parametrize("initial", [0.0, 1.0, 3.0])
def test_positions_are_sinusoids_times_the_size(initial):
    x, positions = torch.zeros(2, 5, 8), torch.arange(5)[None]
    plain = Sinusoidal(**SINUSOIDS).embed(x, positions)
    scaled = Scaled(**SINUSOIDS, initial=initial).embed(x, positions)
    torch.testing.assert_close(scaled, initial * plain)


def test_the_size_is_trained():
    position = Scaled(**SINUSOIDS, initial=1.0)
    position.embed(torch.zeros(1, 5, 8), torch.arange(5)[None]).sum().backward()
    assert position.size.grad.abs() > 0

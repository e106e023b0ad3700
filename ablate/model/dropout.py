"""The one place that makes dropout modules."""

from torch import nn


def make_dropout(rate: float) -> nn.Module:
    """Return the module that zeroes each value with probability `rate` (arXiv:1207.0580)."""
    return nn.Dropout(rate)

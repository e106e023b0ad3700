"""The standard parametrisation: the width affects only shapes and the range of initial values.

Equation: scores are divided as model/attention defines; logits = W h; one learning rate for all.
Source: arXiv:1706.03762, sections 3.2 and 3.4; called SP in arXiv:2203.03466. What differs:
nothing. What to expect: the best learning rate falls as the model becomes wider.
"""

from torch import nn

from ablate.model.parametrisation.base import Parametrisation


class Standard(Parametrisation):
    """The standard parametrisation: all factors are 1."""

    def __init__(self, *, d_model: int, d_head: int) -> None:
        super().__init__()


def parametrisation_of(module: nn.Module) -> Parametrisation:
    """Return the parametrisation that a module contains; the standard one if it contains none."""
    parts = (part for part in module.modules() if isinstance(part, Parametrisation))
    return next(parts, Standard(d_model=1, d_head=1))

"""Initialise all matrices of a model from one normal distribution.

Equation: every matrix, including embeddings and learned positions, is normal with mean 0 and
    standard deviation `std`. Biases are 0 and gains 1.
Source: arXiv:1810.04805 (BERT), whose code uses 0.02 for all matrices, truncated at two standard
    deviations.
What differs: there is no truncation, and every parameter has a separate random generator. A
    component that scales initial values, such as model/residual=deep_norm, also scales these
    values.
What to expect: trains well with few layers. The residual stream grows with depth, which
    `initial=gpt2` counteracts. A width far from 600 requires another `std`.
"""

from typing import Annotated

import torch
from torch import nn

from ablate.config.limits import Range
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.initial.base import Initial
from ablate.initial.seeded import adjust, fill
from ablate.model.base import Model
from ablate.model.parametrisation import parametrisation_of
from ablate.model.projections import Repeated
from ablate.seeding import stream


class Normal(Initial):
    """Draws every matrix from one normal distribution.

    Args:
        std: standard deviation of the initial values of every matrix.
    """

    def __init__(self, *, std: Annotated[float, Range(0)]) -> None:
        self.std = std

    def check(self, model: Model) -> None:
        """Raise UserError if the parametrisation, such as muP, requires a standard deviation that
        depends on the width.
        """
        if parametrisation_of(model).rates_by_role:
            raise UserError(
                "initial=normal and initial=gpt2 have one standard deviation for all widths, and "
                "model/parametrisation wants one for each: choose initial=seeded"
            )

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        self.check(model)
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(prefix=path, recurse=False):
                generator = torch.Generator(parameter.device).manual_seed(stream(seed, name))
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, std=self.std, generator=generator)
                else:
                    fill(module, name, parameter, generator)
        adjust(model, without=Repeated)  # which would rescale from the Xavier range

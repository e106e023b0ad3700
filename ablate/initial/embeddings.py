"""Initialise embeddings from a chosen distribution, and other parameters as `initial=seeded` does.

Equation: the embedding matrix E has V rows of width d. `normal`: normal with standard deviation 1;
    `normal_scaled`: normal with standard deviation d^-0.5, as in `seeded`; `uniform`: uniform in
    +-0.08; `xavier`: uniform in +-sqrt(6 / (V + d)); `orthogonal`: E^T E = (V / d) I, so that the
    mean of the squared norms of rows is 1; if V < d, E E^T = I.
Source: normal: torch.nn.Embedding; uniform: arXiv:1409.3215, section 3.4; orthogonal:
    arXiv:1312.6120, section 3.
What differs: if model.embedding.scaled is true, looked-up embeddings are multiplied by sqrt(d), as
    with all options. A tied matrix is also the output projection. To keep random embeddings fixed,
    use adapt=freeze.
What to expect: with Adam, little difference at the end of training; with tied matrices, `normal`
    starts at an nll far above ln V, and training needs more steps.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from ablate.config.limits import OneOf
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.initial.base import Initial
from ablate.initial.seeded import initialise
from ablate.model.base import Model
from ablate.model.embedding import Table
from ablate.model.parametrisation import parametrisation_of
from ablate.seeding import stream

VALUES = ("normal", "normal_scaled", "uniform", "xavier", "orthogonal")


class Embeddings(Initial):
    """Draws the embeddings from a chosen distribution, and all other parameters as `seeded` does.

    Args:
        values: distribution of the embeddings: normal | normal_scaled | uniform | xavier |
            orthogonal.

    Raises:
        UserError: when called, the parametrisation, such as muP, scales the initial embeddings.
    """

    def __init__(self, *, values: Annotated[str, OneOf(VALUES)]) -> None:
        self.values = values

    def check(self, model: Model) -> None:
        """Raise UserError if the parametrisation, such as muP, scales the initial embeddings."""
        if parametrisation_of(model).rates_by_role:
            raise UserError(
                f"initial.values={self.values} would replace the embeddings that "
                "model/parametrisation scales by the width: choose initial=seeded"
            )

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        self.check(model)
        initialise(model, seed)
        for name, table in model.named_modules():
            if isinstance(table, Table):
                generator = torch.Generator(table.weight.device)
                generator.manual_seed(stream(seed, f"{name}.weight"))
                draw(self.values, table.weight, generator)


@torch.no_grad()
def draw(values: str, weight: Tensor, generator: torch.Generator) -> None:
    """Fill an embedding matrix in place with values from the distribution that `values` names."""
    vocab, width = weight.shape
    if values == "normal":
        nn.init.normal_(weight, generator=generator)
    elif values == "normal_scaled":
        nn.init.normal_(weight, std=width**-0.5, generator=generator)
    elif values == "uniform":
        nn.init.uniform_(weight, -0.08, 0.08, generator=generator)
    elif values == "xavier":
        nn.init.xavier_uniform_(weight, generator=generator)
    else:
        gain = max(1.0, vocab / width) ** 0.5
        nn.init.orthogonal_(weight, gain=gain, generator=generator)

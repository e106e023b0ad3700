"""An embedding matrix (arXiv:1706.03762, section 3.4)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


class Table(nn.Module):
    """An embedding matrix with a row per token.

    Initial values are normal with standard deviation d_model^-0.5.

    Args:
        vocab: number of rows.
        d_model: width.
        scaled: multiply looked-up rows by sqrt(d_model), which gives them unit variance.
    """

    def __init__(self, vocab: int, d_model: int, *, scaled: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.scale = d_model**0.5 if scaled else 1.0
        self.draw_initial_values(self.weight, None)

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Fill the embedding matrix with random values in place."""
        nn.init.normal_(parameter, std=parameter.size(1) ** -0.5, generator=generator)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L D"]:
        """Return the rows of the matrix that belong to the tokens, multiplied by `scale`.

        `scale` is sqrt(d_model) if `scaled` is true, else 1; model/parametrisation may change it.
        """
        rows = F.embedding(tokens, self.weight)
        return rows if self.scale == 1 else rows * self.scale

"""AdamW whose weight decay acts on matrices alone.

Equation: as torch.optim.AdamW, with the weight decay of biases, of the gains of norms, and of every
    other vector set to 0. Embeddings and tables of positions are matrices.
Source: arXiv:1711.05101, algorithm 2; no decay of vectors as in the code of GPT-2's reproductions
    (nanoGPT), and for norms and biases arXiv:1812.01187, section 3.1.
What differs: nothing.
What to expect: gains and biases find their size freely; with a large decay a lower nll than where
    they are pulled to 0 as well.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch.nn import Parameter


class AdamWMatrices(torch.optim.AdamW):
    """Decays parameters with two dimensions or more.

    Args:
        params: all that is trained.
        weight_decay: of the matrices.
        others: arguments of AdamW.
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        *,
        lr: float,
        betas: list[float],
        eps: float,
        fused: bool,
        weight_decay: float,
    ) -> None:
        every = list(params)
        matrices = [parameter for parameter in every if parameter.dim() > 1]
        vectors = [parameter for parameter in every if parameter.dim() < 2]
        groups: list[dict[str, Any]] = [
            {"params": matrices, "weight_decay": weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        filled = [group for group in groups if group["params"]]
        first, second = betas
        super().__init__(filled, lr=lr, betas=(first, second), eps=eps, fused=fused)

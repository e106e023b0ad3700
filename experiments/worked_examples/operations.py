"""The operations of worked examples, using components of this project where possible.

All matrices are float64; a scalar is a 1 x 1 matrix, and a vector has one row.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError
from ablate.model.attention.explicit import softmax
from ablate.model.embedding import Table
from ablate.model.feed_forward import ACTIVATIONS
from ablate.model.layers import Linear

Matrix = Float[Tensor, "_ _"]


def entries(x: Matrix, *, at: list[list[int]]) -> Matrix:
    """Return as a column the entries of x at the positions `at`, pairs of a row and a column."""
    return torch.stack([x[row, column] for row, column in at])[:, None]


def affine(x: Matrix, weight: Matrix, bias: Matrix) -> Matrix:
    """Return x W + b, computed by a linear layer of this project, which stores the transpose of
    W.
    """
    layer = Linear(*weight.shape).double()
    layer.load_state_dict({"weight": weight.T, "bias": bias[0]})
    return layer(x)


def look_up(table: Matrix, tokens: Matrix) -> Matrix:
    """Return the embeddings of all tokens, one row per token, sentence after sentence.

    `tokens` has the token ids of one sentence in each row.
    """
    embedding = Table(*table.shape, scaled=False).double()
    embedding.load_state_dict({"weight": table})
    return embedding(tokens.long()).flatten(0, 1)


def exponents(d_model: Matrix) -> Matrix:
    """Return the exponents of the formula of sinusoidal positions as fractions: one row for each
    dimension, with the numerator 2i and the denominator d_model.
    """
    size = int(d_model)
    pairs = [[float(dimension - dimension % 2), float(size)] for dimension in range(size)]
    return torch.tensor(pairs, dtype=d_model.dtype)


def power(terms: Matrix, *, base: int) -> Matrix:
    """Return for each row `base` ** (first column / second column)."""
    return base ** quotient(terms)


def terms(positions: Matrix, denominators: Matrix, *, position: int) -> Matrix:
    """Return two columns: the given position in every row, and the denominators of the sinusoidal
    formula.
    """
    return torch.cat([positions[position].expand_as(denominators), denominators], 1)


def quotient(terms: Matrix) -> Matrix:
    """Return the first column divided by the second."""
    return terms[:, :1] / terms[:, 1:]


def waves(terms: Matrix) -> Matrix:
    """Return the sine (even rows) or cosine (odd rows) of the first column divided by the second
    column.
    """
    angles = quotient(terms)
    even = torch.arange(len(angles))[:, None] % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


def encodings(positions: Matrix, denominators: Matrix) -> Matrix:
    """Return the sinusoidal encoding of every position as one row per position."""
    every = range(len(positions))
    return torch.cat([waves(terms(positions, denominators, position=p)).T for p in every])


# The operations by name. The arguments are the operands; named arguments are options of the block.
OPERATIONS: dict[str, Callable[..., Matrix]] = {
    "copy": lambda x: x,  # numbers that the document prints again
    "transpose": lambda x: x.T,
    "entries": entries,
    "spread": lambda x, *, shape: x.expand(shape),  # a scalar as a matrix of this shape
    "beside": lambda *parts: torch.cat(parts, 1),
    "width": lambda x: torch.full((1, 1), float(x.size(1)), dtype=x.dtype),
    "root": torch.sqrt,
    "add": torch.add,
    "scale": torch.mul,
    "divide": torch.div,
    "product": torch.matmul,
    "scaled_product": lambda x, y, divisor: x @ y / divisor,
    "affine": affine,
    "relu": ACTIVATIONS["relu"],
    "softmax_of_rows": lambda x: softmax(x[None, None])[0, 0],
    "look_up": look_up,
    "exponents": exponents,
    "power": power,
    "terms": terms,
    "quotient": quotient,
    "waves": waves,
    "encodings": encodings,
}


def apply(by: str, operands: list[Matrix], options: dict[str, Any]) -> Matrix:
    """Return the result of the operation named `by` on its operands.

    Raises:
        UserError: there is no such operation.
    """
    if by not in OPERATIONS:
        raise UserError(f"by is {by!r}: it must be one of {', '.join(OPERATIONS)}")
    with torch.no_grad():
        return OPERATIONS[by](*operands, **options)

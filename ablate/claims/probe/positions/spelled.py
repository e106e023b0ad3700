"""Compute alternative readings of the formula of sinusoidal positions, column by column.

Equation: column c (from 0) of the paper is sin(pos / 10000^(c / d)) where c is even and cos(pos /
    10000^((c - 1) / d)) where it is odd, which is 2i / d for both columns of pair i.
Source: arXiv:1706.03762, section 3.5, whose i counts pairs.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

Columns = Float[Tensor, " D"]


def paper(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return the encodings with i as the index of a pair: exponents 2i / d_model."""
    return columns(positions, 2 * (torch.arange(d_model) // 2) / d_model)


def by_column(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings with exponents c / d_model in even columns and (c - 1) / d_model in odd
    ones.
    """
    c = torch.arange(d_model)
    return columns(positions, torch.where(c % 2 == 0, c, c - 1) / d_model)


def every_column(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings with exponents c / d_model in all columns c, also in odd ones, as in a
    worked example.
    """
    return columns(positions, torch.arange(d_model) / d_model)


def index_is_dimension(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings with exponents 2i / d_model where i counts columns."""
    return columns(positions, 2 * torch.arange(d_model) / d_model)


def parity_of_position(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings with sines at even positions and cosines at odd ones, in all columns."""
    angle = angles(positions, 2 * (torch.arange(d_model) // 2) / d_model)
    return torch.where(positions[:, None] % 2 == 0, angle.sin(), angle.cos())


def swapped(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return the paper's encodings with cosines in even columns and sines in odd ones."""
    return paper(positions, d_model).view(len(positions), -1, 2).flip(2).flatten(1)


def columns(positions: Int[Tensor, " L"], exponents: Columns) -> Float[Tensor, "L D"]:
    """Return the sine of the angles in even columns and the cosine in odd columns; `exponents` has
    one exponent per column.
    """
    angle = angles(positions, exponents)
    even = torch.arange(len(exponents)) % 2 == 0
    return torch.where(even, angle.sin(), angle.cos())


def angles(positions: Int[Tensor, " L"], exponents: Columns) -> Float[Tensor, "L D"]:
    """Return pos / 10000^exponent, in float64."""
    return positions[:, None] * 10000.0 ** -exponents.double()

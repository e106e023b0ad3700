"""Compute sinusoidal positions by different interpretations of the paper's formula.

Equation: column c (from 0) of the paper's encoding is sin(pos / 10000^(c / d)) if c is even, and
    cos(pos / 10000^((c - 1) / d)) if c is odd. So the exponent of both columns of pair i is 2i / d.
Source: arXiv:1706.03762, section 3.5, whose i counts pairs.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

Columns = Float[Tensor, " D"]


def paper(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return the paper's encodings, in which i counts pairs of columns: pos is divided by
    10000^(2i / d_model) in both columns of pair i.
    """
    return columns(positions, 2 * (torch.arange(d_model) // 2) / d_model)


def by_column(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings that are computed from the number c of a column: pos is divided by 10000^(c
    / d_model) in even columns and by 10000^((c - 1) / d_model) in odd columns.
    """
    c = torch.arange(d_model)
    return columns(positions, torch.where(c % 2 == 0, c, c - 1) / d_model)


def every_column(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings in which odd columns have the same formula as even columns: pos is divided
    by 10000^(c / d_model) in every column c.
    """
    return columns(positions, torch.arange(d_model) / d_model)


def index_is_dimension(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings in which i counts columns instead of pairs: pos is divided by 10000^(2i /
    d_model) in column i.
    """
    return columns(positions, 2 * torch.arange(d_model) / d_model)


def parity_of_position(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return encodings that have only sines at even positions and only cosines at odd positions,
    with the angles of the paper.
    """
    angle = angles(positions, 2 * (torch.arange(d_model) // 2) / d_model)
    return torch.where(positions[:, None] % 2 == 0, angle.sin(), angle.cos())


def swapped(positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
    """Return the paper's encodings, but with cosines in even columns and sines in odd columns."""
    return paper(positions, d_model).view(len(positions), -1, 2).flip(2).flatten(1)


def columns(positions: Int[Tensor, " L"], exponents: Columns) -> Float[Tensor, "L D"]:
    """Return encodings with the sine of pos / 10000^exponent in even columns, and the cosine in odd
    columns; `exponents` has one exponent per column.
    """
    angle = angles(positions, exponents)
    even = torch.arange(len(exponents)) % 2 == 0
    return torch.where(even, angle.sin(), angle.cos())


def angles(positions: Int[Tensor, " L"], exponents: Columns) -> Float[Tensor, "L D"]:
    """Return pos / 10000^exponent for every position and every column, in float64."""
    return positions[:, None] * 10000.0 ** -exponents.double()

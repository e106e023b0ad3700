"""Represent sinusoids as complex numbers: a pair (sin, cos) of an encoding is z = cos + i sin.

Equation: a pair of frequency w is z[pos] = e^(i pos w). Hence, for every pos, z[pos + k] =
    e^(i k w) z[pos], which rotates the pair by k w and is linear, and z[pos + k] = z[pos] z[k],
    which is a product.
"""

import numpy as np
import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

from ablate.model.position.added import Sinusoidal
from experiments.shared.probe.draws import Measured, moved

TYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
TOKENS = (20, 100, 512)  # lengths within which a pair may complete a period


def waves(p: Float[Tensor, "L D"], layout: str) -> Complex[Tensor, "L P"]:
    """Return each pair (sine, cosine) of position encodings as a complex number, in float64.

    `layout` says which columns of `p` form a pair: neighbours if it is "interleaved", otherwise a
    column of the first half and a column of the second half.
    """
    axis = 2 if layout == "interleaved" else 1
    sin, cos = p.double().view(len(p), *((-1, 2) if axis == 2 else (2, -1))).unbind(axis)
    return torch.complex(cos, sin)


def distance(first: Complex[Tensor, "*L P"], other: Complex[Tensor, "*L P"]) -> Tensor:
    """Return the largest absolute difference between two sets of complex numbers, in the real or in
    the imaginary part.
    """
    return torch.view_as_real(first - other).abs().max()


def frequencies(z: Complex[Tensor, "L P"]) -> Float[Tensor, " P"]:
    """Return for each pair the mean angle by which it rotates from a position to the next."""
    phase = torch.from_numpy(np.unwrap(z.angle().numpy(), axis=0))
    return (phase[-1] - phase[0]) / (len(z) - 1)


def shift(
    position: Sinusoidal, at: Int[Tensor, " L"], offset: int, d_model: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return two differences that show how well the encodings p[pos + k] can be computed from the
    encodings p[pos].

    The first is the largest difference between p[pos + k] and p[pos] with each pair of frequency w
    rotated by k w. The second is the largest difference between sin((pos + k) w) and cos(k w)
    sin(pos w). It is large, because sines alone do not suffice for a shift.

    Args:
        position: the sinusoidal positions, which compute p.
        at: the positions pos.
        offset: the offset k.
        d_model: width of an encoding.
        dtype: number type to which the encodings are rounded.
    """
    now, then = (
        waves(position.formula(where, d_model).to(dtype), position.layout)
        for where in (at, at + offset)
    )
    pair = torch.arange(now.size(1), dtype=torch.float64)
    turn = offset * 10000.0 ** (-pair / position.n_steps)
    turned = now * torch.polar(torch.ones_like(turn), turn)
    return distance(then, turned), moved(then.imag, now.imag * turn.cos())


def best_sum(then: Float[Tensor, "L D"], *parts: Float[Tensor, "L D"]) -> Tensor:
    """Return the largest difference between `then` and the linear combination of `parts` that is
    closest to it.
    """
    columns = torch.stack([part.flatten() for part in parts], 1)
    factors = torch.linalg.lstsq(columns, then.reshape(-1, 1)).solution
    return moved(columns @ factors, then.reshape(-1, 1))


def pairs(p: Float[Tensor, "L D"], z: Complex[Tensor, "L P"], layout: str) -> Measured:
    """Yield properties of the columns of position encodings and of their frequencies.

    Args:
        p: the encodings.
        z: the encodings, each pair of sine and cosine as a complex number.
        layout: which columns form a pair, as in `waves`.

    Yields:
        pair: deviation from 1 of the sum of squares of columns 2i and 2i + 1.
        pair_control: the same deviation for columns 2i + 1 and 2i + 2.
        ratio: largest relative deviation of the ratio of neighbouring frequencies from
            10000^(-2 / d_model).
        ratio_control: the same deviation from 10000^(-1 / d_model).
        rises: number of columns with a higher frequency than the previous column.
        rises_control: the same number if the order of the columns is reversed.
        unfinished_N: fraction of pairs that do not complete a period within N tokens.
    """
    d_model, rate = p.size(1), frequencies(z)
    by_column = rate.repeat_interleave(2) if layout == "interleaved" else rate.repeat(2)
    neighbours = rate[1:] / rate[:-1]
    for name, columns in (("pair", p), ("pair_control", p.roll(-1, 1))):
        yield name, moved(columns.reshape(len(p), -1, 2).square().sum(-1), 1.0)
    for name, step in (("ratio", 2.0), ("ratio_control", 1.0)):
        deviations = (neighbours / 10000.0 ** (-step / d_model) - 1).abs()
        yield name, deviations if len(deviations) else 0.0  # a pair alone has no neighbour
    for name, rates in (("rises", by_column), ("rises_control", by_column.flip(0))):
        yield name, (rates[1:] > rates[:-1] * (1 + 1e-9)).sum()
    for n in TOKENS:
        yield f"unfinished_{n}", (rate * n < 2 * torch.pi).double().mean()

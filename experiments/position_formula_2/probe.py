"""Check properties of sinusoidal positions, by layout, width and number type.

Equation: pair i of p[pos] is (sin(pos w_i), cos(pos w_i)), w_i = 10000^(-2i / d_model); hence p[pos
    + k] is p[pos] with every pair rotated by k w_i, for every pos.
Source: arXiv:1706.03762, section 3.5; the frequencies of its code (tensor2tensor,
    get_timing_signal_1d) are 10000^(-i / (d_model / 2 - 1)), the sines first, then the cosines.
What differs: the formula is checked in float64, and rounded to float32 (used by models for sums)
    and bfloat16 (used for products), not the behaviour of a trained model. Positions are the first
    `max_length` and the last `max_length` before `farthest`.
What to expect: all algebraic identities hold up to rounding; in bfloat16, narrow encodings of
    different positions coincide; the layout only renames columns.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model.position.added import Learned, Sinusoidal
from ablate.model.transformer import Transformer
from experiments.position_formula.probe import existing
from experiments.position_formula_2 import spelled, waves
from experiments.position_formula_2.distinct import coincidences
from experiments.position_formula_2.relabelled import check_columns, renaming
from experiments.shared.probe.draws import Measured, RandomModels, moved

# functions of the angle that take the place of sine and cosine in a control
NEVER_PERIODIC: dict[str, Callable[[Tensor], Tensor]] = {
    "saturating": lambda angle: angle / (1 + angle),
    "log": torch.log1p,
    "ramp": lambda angle: angle,
}


class Sinusoids(RandomModels):
    """A probe of the encoder's sinusoidal positions.

    It checks two ranges of positions: the first `max_length` positions, and the last `max_length`
    positions before `farthest`.

    Args:
        draws: number of random offsets, and of models with random weights.
        length: number of tokens in each random sentence that the models read.
        max_length: number of positions in each of two ranges: from 0 on, and just before
            `farthest`.
        farthest: end of the later range of positions; all positions before it are searched for
            equal encodings.
        seed: seed of offsets, weights and sentences.

    Raises:
        UserError: `draws` is below 1, `length` is below 2, `max_length` is below 3, or `farthest`
            is not above twice `max_length`.
    """

    largest = (
        *(f"shift_{name}" for name in waves.TYPES),
        *("shift_control", "product", "product_control", "sum"),
        *("pair", "pair_control", "ratio", "ratio_control", "rises", "rises_control"),
        *(f"unfinished_{n}" for n in waves.TOKENS),
        *("aperiodic_missing", "table_missing", "excess", "excess_control"),
        *(f"same_{name}" for name in waves.TYPES),
        *("same_bfloat16_near", "same_control"),
        *("spelling", "spelling_control", "index", "parity", "parity_columns", "parity_control"),
        *("paper", "paper_control", "relabelled"),
    )
    smallest = ("relabelled_control",)

    max_length: Annotated[int, Range(3)]
    farthest: int

    def __post_init__(self) -> None:
        least = 2 * self.max_length + 1
        if self.farthest < least:
            raise UserError(f"probe.farthest is {self.farthest}: it must be at least {least}")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return deviations from the mathematical properties of sinusoidal positions, such as that
        a shift of the positions is a rotation of each pair.

        The methods of this class and the functions that they call describe each value.

        Raises:
            UserError: the model does not use sinusoids, or has parameters of which it is not known
                whether they belong to columns of the residual stream.
        """
        position = model.encoder.position
        if not isinstance(position, Sinusoidal):
            raise UserError(
                f"probe=sinusoids measures sinusoidal positions, and model/position is "
                f"{type(position).__name__}: choose sinusoidal, sinusoidal_halves or "
                "sinusoidal_concat"
            )
        check_columns(model)
        d_model = model.embedding.output_weight().size(1)
        start = torch.arange(self.max_length)
        p = position.formula(start, d_model)
        z = waves.waves(p, position.layout)
        return self.reduced(
            [
                self.shifts(position, d_model),
                waves.pairs(p, z, position.layout),
                self.extension(position, d_model),
                coincidences(position, d_model, self.max_length, self.farthest),
                against_paper(p, z, start),
                renaming(self.models(model), position, self.length),
            ]
        )

    def windows(self) -> Int[Tensor, " L"]:
        """Return the positions for which sinusoids are checked: the first `max_length` positions,
        and the last `max_length` positions before `farthest`.
        """
        return torch.cat(
            [torch.arange(n, n + self.max_length) for n in (0, self.farthest - self.max_length)]
        )

    def shifts(self, position: Sinusoidal, d_model: int) -> Measured:
        """Yield how well the encoding p[pos + k] can be computed from the encoding p[pos]: the
        largest deviations over positions, for each random offset k.

        A pair is a sine and a cosine of the same frequency w, regarded as a complex number.

        Yields:
            shift_TYPE: difference between p[pos + k] and p[pos] with each pair rotated by k w, if
                encodings are rounded to a number type, such as bfloat16.
            shift_control: difference between sin((pos + k) w) and cos(k w) sin(pos w), which is
                large, because sines alone do not suffice.
            product: difference between p[pos + k] and the product of p[pos] and p[k], pair by pair.
            product_control: difference between p[pos + k] and the product of p[pos] and p[k + 1].
            sum: difference between p[pos + k] and a p[pos] + b p[k], with the best numbers a and b
                for each k.
        """
        at = self.windows()
        offsets = torch.randint(
            1, self.max_length, (self.draws,), generator=self.generator("offsets")
        )
        for k in offsets.tolist():
            for name, dtype in waves.TYPES.items():
                residual, control = waves.shift(position, at, k, d_model, dtype)
                yield f"shift_{name}", residual
            yield "shift_control", control
            p, then, shifted, wrong = (
                position.formula(where, d_model)
                for where in (at, at + k, torch.tensor([k]), torch.tensor([k + 1]))
            )
            z, z_then, z_shifted, z_wrong = (
                waves.waves(x, position.layout) for x in (p, then, shifted, wrong)
            )
            yield "product", waves.distance(z_then, z * z_shifted)
            yield "product_control", waves.distance(z_then, z * z_wrong)
            yield "sum", waves.best_sum(then, p, shifted.expand_as(p))

    def extension(self, position: Sinusoidal, d_model: int) -> Measured:
        """Yield how position encodings behave at positions beyond `max_length`.

        Yields:
            aperiodic_missing: number of positions for which encodings without periods would fail.
                Each function in NEVER_PERIODIC, such as the logarithm, takes the place of sine and
                cosine. A position fails if, in every column, the value is infinite, NaN, or equal
                to the value at the previous position. The function with most failures is reported.
            table_missing: number of the first 2 max_length positions for which a learned table of
                max_length rows has no row.
            excess: by how much the largest absolute value of the sinusoids exceeds 1.
            excess_control: by how much the largest value exceeds 1 if log(1 + angle) takes the
                place of the sine of the angle.
        """
        beyond = self.windows()[self.max_length :]
        pair = torch.arange(d_model // 2, dtype=torch.float64)
        rate = 10000.0 ** (-pair / position.n_steps)
        for function in NEVER_PERIODIC.values():
            now, before = (function(at[:, None] * rate) for at in (beyond, beyond - 1))
            yield "aperiodic_missing", (~now.isfinite() | (now == before)).all(1).sum()
        both = 2 * self.max_length
        table = Learned(d_model=d_model, max_length=self.max_length)
        yield "table_missing", both - existing(table, d_model, both)
        values = position.formula(self.windows(), d_model)
        for dtype in waves.TYPES.values():
            yield "excess", (values.to(dtype).abs().max().double() - 1).clamp(min=0)
        yield "excess_control", (beyond[:, None] * rate).log1p() - 1


def against_paper(
    p: Float[Tensor, "L D"], z: Complex[Tensor, "L P"], at: Int[Tensor, " L"]
) -> Measured:
    """Yield the largest differences between the model's encodings and encodings by the paper's
    formula, or by other interpretations of this formula.

    Args:
        p: encodings of the model.
        z: encodings of the model, each pair of sine and cosine as a complex number.
        at: positions.

    Yields:
        paper: difference from the paper's formula if pairs are compared, in any order of the
            columns.
        paper_control, parity_columns: this difference if columns are compared in the given order:
            even columns have sines and odd columns have cosines.
        spelling: difference if the angle is pos / 10000^(c / d_model) in each even column c, and
            pos / 10000^((c - 1) / d_model) in each odd column c.
        spelling_control: difference if the angle is pos / 10000^(c / d_model) in every column c.
        index: difference if the angle is pos / 10000^(2i / d_model), where i counts columns, not
            pairs.
        parity: difference if even positions have only sines and odd positions have only cosines.
        parity_control: difference if even columns have cosines and odd columns have sines.
    """
    yield "paper", waves.distance(z, waves.waves(spelled.paper(at, p.size(1)), "interleaved"))
    for name, interpretation in (
        ("paper_control", spelled.paper),
        ("parity_columns", spelled.paper),
        ("spelling", spelled.by_column),
        ("spelling_control", spelled.every_column),
        ("index", spelled.index_is_dimension),
        ("parity", spelled.parity_of_position),
        ("parity_control", spelled.swapped),
    ):
        yield name, moved(interpretation(at, p.size(1)), p)

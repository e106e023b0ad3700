"""Check properties of position encodings, without any text.

Equation: p[pos] is the vector that the component adds at position pos (counted from 0).
Source: arXiv:1706.03762, section 3.5 ("may allow the model to extrapolate to sequence lengths
    longer").
What differs: the formula is checked in float32 as models use it, not the behaviour of a trained
    model; `experiments.position_formula_2.probe` checks properties of sinusoids.
What to expect: sinusoids have no last position; a table of positions ends.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Count, Range
from ablate.errors import UserError
from ablate.model.position import Position
from ablate.model.transformer import Transformer
from ablate.probe import Probe


@dataclass(kw_only=True)
class PositionFormula(Probe):
    """A probe of the encoder's position encodings up to position `farthest` times `max_length`.

    Args:
        max_length: number of tokens in the longest training sequence.
        farthest: multiple of `max_length` up to which positions are analysed.

    Raises:
        UserError: `max_length` is below 1, or `farthest` below 2.
    """

    measures = (
        "longest_position",
        "missing",
        "beyond",
        "table",
        "norm_smallest",
        "norm_largest",
        "range_excess",
        "closest",
        "finite",
    )

    max_length: Count
    farthest: Annotated[int, Range(2)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return properties of the position encodings p[pos] at positions below `farthest` *
        `max_length`. Some components cannot encode all these positions, such as a table of
        positions.

        Returns:
            longest_position: number of positions that the component can encode.
            missing: number of positions that it cannot encode.
            beyond: 1 if it can encode more than max_length positions, else 0.
            table: number of trained parameters of the component.
            norm_smallest, norm_largest: smallest and largest Euclidean norm of an encoding.
            range_excess: largest absolute value of an entry minus 1; 0 if this is negative.
            closest: smallest Euclidean distance between the encodings of two positions below
                max_length.
            finite: fraction of entries that are finite.
        """
        position = model.encoder.position
        d_model = model.embedding.output_weight().size(1)
        length = existing(position, d_model, self.farthest * self.max_length)
        p = encodings(position, d_model, length).double()
        norm = p.norm(dim=1)
        return {
            "longest_position": float(length),
            "missing": float(self.farthest * self.max_length - length),
            "beyond": float(existing(position, d_model, self.max_length + 1) > self.max_length),
            "table": float(sum(parameter.numel() for parameter in position.parameters())),
            "norm_smallest": float(norm.min()),
            "norm_largest": float(norm.max()),
            "range_excess": float((p.abs().max() - 1).clamp(min=0)),
            "closest": closest(p[: self.max_length]),
            "finite": float(p.isfinite().double().mean()),
        }


def existing(position: Position, d_model: int, length: int) -> int:
    """Return how many of the first `length` positions the component can encode.

    The function tries to encode all these positions. If the component raises an error, the result
    is the number of positions that its attribute `longest` states.
    """
    longest = length if position.longest is None else min(length, position.longest)
    try:
        encodings(position, d_model, length)
    except UserError:
        return longest
    return length


@torch.no_grad()
def encodings(position: Position, d_model: int, length: int) -> Float[Tensor, "L D"]:
    """Return the vectors that are added to the embeddings at positions 0 to length - 1."""
    return position.embed(torch.zeros(1, length, d_model), torch.arange(length)[None])[0]


def closest(p: Float[Tensor, "L D"]) -> float:
    """Return the smallest Euclidean distance between the encodings of two positions; 0 if there is
    only one position.
    """
    return float(torch.pdist(p).min()) if len(p) > 1 else 0.0

"""What a masked score may be filled with, by number and by type.

Equation: weights = softmax(s'), s' = the fill where a key is masked and s elsewhere (filled), or
    s + the fill there (added).
Source: the fills -1e4, -1e9, -1e10 and minus infinity of implementations of arXiv:1706.03762, whose
    section 3.2.3 has minus infinity.
What differs: random scores of standard deviation SPREAD in four types; all is computed in that
    type.
What to expect: 0 on masked keys, whatever the fill, where a key is left; where none is left fills
    part: an even row, NaN, or the unmasked weights. float16 has no number below -65504.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels
from ablate.model.transformer import Transformer

FILLS = (-1e4, -1e9, -1e10, -torch.inf)
COMPARED = FILLS[1:]  # those of the documents
TYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
SPREAD = 3.0
ROWS = 16
FAR = 200.0  # a score so far below another has a weight that float32 cannot hold


class MaskFills(RandomModels):
    """Fills random scores; the model is not looked at."""

    measures = (
        "unmasked",
        "least_weight",
        *(f"{what}_{name}" for name in TYPES for what in ("weight", "held", "refused")),
        *(f"{what}_{name}" for name in TYPES for what in ("apart", "empty_apart")),
        "empty_weight",
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws, fills and both ways to apply them.

        weight_TYPE: the largest weight on a masked key, NaN where the type refuses a fill;
        held_TYPE: the same over the fills that it can hold; refused_TYPE: how many fills it cannot,
        with an error; apart_TYPE: the largest difference of weights between the fills COMPARED, in
        rows that keep a key; empty_apart_TYPE: in rows that keep none; NaN where any weight is.
        empty_weight: the largest weight in such a row, filled with -1e9 in float64. unmasked: what
        masked keys have together without a mask, in the draw with the least; least_weight: the
        weight of a key whose score is FAR below the other, in float32.
        """
        found = [self.draw(generator) for _, generator in self.models(model)]
        values = {name: torch.tensor([one[name] for one in found]) for name in found[0]}
        extremes = {k: float(v.min() if k == "unmasked" else v.max()) for k, v in values.items()}
        far = torch.tensor([0.0, -FAR]).softmax(0)
        return {**extremes, "least_weight": float(far[1])}

    def draw(self, generator: torch.Generator) -> dict[str, float]:
        """Return the measurements on random scores."""
        scores = SPREAD * torch.randn(ROWS, self.length, generator=generator).double()
        masked = torch.rand(ROWS, self.length, generator=generator) < 0.5
        masked[:, 0], masked[:, 1] = False, True
        every = torch.ones_like(masked)
        found = {"unmasked": float((scores.softmax(-1) * masked).sum(-1).mean())}
        for name, dtype in TYPES.items():
            kept = applied(scores.to(dtype), masked)
            held = [float(w[masked].max()) for w in kept.values() if w is not None]
            refused = sum(w is None for w in kept.values())
            found |= {
                f"held_{name}": max(held),
                f"refused_{name}": float(refused),
                f"weight_{name}": torch.nan if refused else max(held),
                f"apart_{name}": apart(kept),
                f"empty_apart_{name}": apart(applied(scores.to(dtype), every)),
            }
        empty = applied(scores, every)["filled", -1e9]
        assert empty is not None  # float64 holds every fill
        return {**found, "empty_weight": float(empty.max())}


def applied(
    scores: Float[Tensor, "R K"], masked: Bool[Tensor, "R K"]
) -> dict[tuple[str, float], Tensor | None]:
    """Return the weights by way and fill; None where the type refuses the fill."""
    found: dict[tuple[str, float], Tensor | None] = {}
    for fill in FILLS:
        for way in ("filled", "added"):
            try:
                part = scores if way == "filled" else torch.zeros_like(scores)
                part = part.masked_fill(masked, fill)
            except RuntimeError:
                found[way, fill] = None
            else:
                found[way, fill] = (part if way == "filled" else scores + part).softmax(-1)
    return found


def apart(weights: dict[tuple[str, float], Tensor | None]) -> float:
    """Return the largest difference between the fills that are compared, each filled in."""
    held = [weights["filled", fill] for fill in COMPARED]
    first, *others = [w.double() for w in held if w is not None]
    found = [(first - other).abs().max() for other in others]
    return float(torch.stack(found).max()) if found else torch.nan

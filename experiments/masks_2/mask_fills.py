"""Compare fill values for masked scores, by number type.

Equation: weights = softmax(s'), s' = the fill where a key is masked and s elsewhere (filled), or s
    + the fill there (added).
Source: the fills -1e4, -1e9, -1e10 and minus infinity of implementations of arXiv:1706.03762, whose
    section 3.2.3 has minus infinity.
What differs: random scores of standard deviation SPREAD in four types; all computations use that
    type.
What to expect: weight 0 on masked keys for any fill, if a key remains; if none remains, fills
    differ: a uniform row, NaN, or the unmasked weights. float16 has no number below -65504.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels

FILLS = (-1e4, -1e9, -1e10, -torch.inf)
COMPARED = FILLS[1:]  # the fill values in the documents, the texts whose claims are tested
TYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
SPREAD = 3.0
ROWS = 16
FAR = 200.0  # a score that is lower by FAR has a weight that float32 cannot represent


class MaskFills(RandomModels):
    """A probe of attention weights after masked scores were replaced by fill values, such as -1e9,
    in several number types; the scores are random, and the model is ignored.
    """

    dtype = torch.float32
    smallest = ("unmasked",)
    largest = (
        *(f"{what}_{name}" for name in TYPES for what in ("weight", "held", "refused")),
        *(f"{what}_{name}" for name in TYPES for what in ("apart", "empty_apart")),
        "empty_weight",
    )
    single = ("least_weight",)

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return attention weights for random scores, number types and fill values; each value is
        the largest over all random score matrices, except `unmasked`.

        A fill value is applied in two ways: it replaces a masked score, or it is added to the
        score. TYPE is a number type, such as float16.

        Returns:
            weight_TYPE: largest weight on a masked key, over all fill values and both ways; NaN if
                the type cannot represent one of the fill values.
            held_TYPE: largest weight on a masked key, over the fill values that the type can
                represent.
            refused_TYPE: number of combinations of a fill value and a way for which torch raises
                an error, because the type cannot represent the fill value.
            apart_TYPE: largest difference between the weights for -1e9, -1e10 and minus infinity
                in place of masked scores, if at least one key is not masked.
            empty_apart_TYPE: the same difference if all keys are masked; NaN if a weight is NaN.
            empty_weight: largest weight if all keys are masked and get -1e9 in float64.
            unmasked: mean total weight of the masked keys if no mask is applied; smallest over
                all score matrices.
            least_weight: weight in float32 of a key whose score is 200 (FAR) below the only other
                score.
        """
        far = torch.tensor([0.0, -FAR]).softmax(0)
        return {**super().__call__(model), "least_weight": float(far[1])}

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements that `__call__` describes, for one random matrix of scores."""
        scores = SPREAD * torch.randn(ROWS, self.length, generator=generator).double()
        masked = torch.rand(ROWS, self.length, generator=generator) < 0.5
        masked[:, 0], masked[:, 1] = False, True
        every = torch.ones_like(masked)
        yield "unmasked", (scores.softmax(-1) * masked).sum(-1).mean()
        for name, dtype in TYPES.items():
            kept = applied(scores.to(dtype), masked)
            for weights in kept.values():
                yield f"held_{name}", 0.0 if weights is None else weights[masked]
                yield f"weight_{name}", torch.nan if weights is None else weights[masked]
            yield f"refused_{name}", sum(weights is None for weights in kept.values())
            yield f"apart_{name}", apart(kept)
            yield f"empty_apart_{name}", apart(applied(scores.to(dtype), every))
        empty = applied(scores, every)["filled", -1e9]
        assert empty is not None  # float64 can represent every fill
        yield "empty_weight", empty


def applied(
    scores: Float[Tensor, "R K"], masked: Bool[Tensor, "R K"]
) -> dict[tuple[str, float], Tensor | None]:
    """Return the attention weights for each fill value, applied to the masked scores in two ways.

    Args:
        scores: attention scores, in the number type to be tested.
        masked: True at masked keys.

    Returns:
        weights by ("filled", fill value) if the fill value replaces each masked score, and by
            ("added", fill value) if it is added to each masked score. The weights are None if torch
            raises an error because the number type cannot represent the fill value.
    """
    weights: dict[tuple[str, float], Tensor | None] = {}
    for fill in FILLS:
        for way in ("filled", "added"):
            try:
                part = scores if way == "filled" else torch.zeros_like(scores)
                part = part.masked_fill(masked, fill)
            except RuntimeError:
                weights[way, fill] = None
            else:
                weights[way, fill] = (part if way == "filled" else scores + part).softmax(-1)
    return weights


def apart(weights: dict[tuple[str, float], Tensor | None]) -> Tensor | float:
    """Return the largest difference between the weights for two fill values in place of masked
    scores.

    The weights for the first fill value in COMPARED are compared with the weights for each later
    fill value. Fill values that the number type cannot represent are left out. The result is NaN if
    a weight is NaN, or if fewer than two fill values remain.
    """
    filled = [weights["filled", fill] for fill in COMPARED]
    first, *remaining = [w.double() for w in filled if w is not None]
    differences = [(first - other).abs().max() for other in remaining]
    return torch.stack(differences).max() if differences else torch.nan

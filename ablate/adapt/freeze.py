"""Freeze some weights.

Equation: w = w_0 for every chosen weight; all other weights are trained.
Source: arXiv:2012.15045 (transformers some of whose layers keep their random weights);
    arXiv:1801.06146, section 3.3 (fine-tuning with layers frozen).
What differs: the choice of weights is a setting.
What to expect: freezing layers at random weights costs little quality. Freezing the embedding costs
    more, the smaller the model is.
"""

from ablate.adapt.base import Adapt
from ablate.adapt.names import chosen
from ablate.errors import UserError
from ablate.model.base import Model


class Freeze(Adapt):
    """An option that excludes some weights from training.

    Args:
        parts: patterns of the names of frozen weights, such as embedding or decoder.*.query.

    Raises:
        UserError: when called, a pattern matches no weight, or no weight is left to train.
    """

    def __init__(self, *, parts: list[str]) -> None:
        self.parts = parts

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the weights whose names match a pattern."""
        named = dict(model.named_parameters(remove_duplicate=False))
        frozen = {named[name] for name in chosen("adapt.parts", self.parts, named)}
        if frozen.issuperset(named.values()):
            raise UserError(f"adapt.parts={self.parts} names every weight: nothing would train")
        for parameter in frozen:
            parameter.requires_grad_(False)

"""Adaptation of a model before training, and options that choose the weights to train."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import ClassVar

import torch

from ablate.errors import UserError
from ablate.model import Model
from ablate.model.head import LinearHead


class Adapt(ABC):
    """Changes a model in place after its weights are initialised; an option of `adapt`.

    Weights that require a gradient are trained. If a weight becomes a function of other weights, as
    in LoRA, it is replaced by `torch.nn.utils.parametrize`, so that the change applies wherever the
    weight is used. To restore a trained run, the model is built and adapted before its weights are
    loaded.
    """

    # whether the change leaves the logits as they are until the first training step
    starts_unchanged: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, model: Model, seed: int) -> None:
        """Change the model in place.

        The initial values of added weights depend only on the seed.
        """


def chosen(key: str, patterns: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the dotted names that match at least one pattern, in the order of `names`.

    A pattern is one or several consecutive parts of a dotted name; `*` matches any text: `query`,
    `encoder`, `decoder.layers.0`, `decoder.*.query`. `key` is the config key of the patterns, for
    the message.

    Raises:
        UserError: there is no pattern, or a pattern matches no name.
    """
    every = list(names)
    if not patterns:
        raise UserError(f"{key} is empty: name at least one part of the model")
    for pattern in patterns:
        if not any(_fits(pattern, name) for name in every):
            parts = dict.fromkeys(x for name in every for x in name.split(".") if not x.isdigit())
            raise UserError(
                f"{key} has {pattern!r}, which fits nothing in this model: its parts are "
                f"{', '.join(parts)}"
            )
    return [name for name in every if any(_fits(pattern, name) for pattern in patterns)]


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(f".{name}.", f"*.{pattern}.*")


class All(Adapt):
    """Train all weights.

    An option that leaves the model unchanged, so that all weights are trained.

    Equation: every w follows its gradient.
    Source: arXiv:1706.03762, section 5 (training from scratch).
    What differs: nothing.
    What to expect: this is the reference option of the factor.
    """

    def __call__(self, model: Model, seed: int) -> None:
        """Leave the model unchanged."""


class Freeze(Adapt):
    """Freeze some weights.

    An option that excludes some weights from training.

    Equation: w = w_0 for every chosen weight; all other weights are trained.
    Source: arXiv:2012.15045 (transformers some of whose layers keep their random weights);
        arXiv:1801.06146, section 3.3 (fine-tuning with layers frozen).
    What differs: the choice of weights is a setting.
    What to expect: freezing layers at random weights costs little quality. Freezing the embedding
        costs more, the smaller the model is.

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


class OutputOnly(Adapt):
    """Train only the output layer.

    An option that freezes all weights except those of the output layer.

    Equation: logits = W h. W is trained, and all weights that compute the hidden state h are
        frozen.
    Source: arXiv:1902.00751, section 3 (the baseline that fine-tunes only the top layers).
    What differs: only one layer is trained, the projection to the vocabulary.
    What to expect: far worse than training all weights. If the frozen weights are random, the model
        is a linear model of random features. With tied embeddings, the embedding is trained as
        well; model/embedding=separate avoids this.

    Raises:
        UserError: when called, the output layer of the model has no weights.
    """

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze all weights except those of the output layer."""
        trained = list(model.head.parameters())
        if isinstance(model.head, LinearHead):
            # the matrix of the head may be a function of a parameter, such as a multiple
            parameters = list(model.parameters())
            with torch.enable_grad():
                total = model.head.weight().sum()
            gradients = torch.autograd.grad(total, parameters, allow_unused=True)
            pairs = zip(parameters, gradients, strict=True)
            trained += [parameter for parameter, gradient in pairs if gradient is not None]
        if not trained:
            raise UserError("adapt=output_only: the output layer of this model has no weights")
        model.requires_grad_(False)
        for parameter in trained:
            parameter.requires_grad_(True)

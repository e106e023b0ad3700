"""Measure the output of a norm, and what it depends on.

Equation: mean and variance over d_model of y = norm(x), gain 1 and bias 0; and the difference
    between y and the formula of layer normalisation, (x - mean) / sqrt(var + 1e-5), with statistics
    of the token or of its sentence. Batch normalisation of the same vectors is the control.
Source: arXiv:1607.06450, equation 4.
What differs: random vectors in float64 with mean 3 and standard deviation 2.
What to expect: mean 0 and variance 1 for layer_norm; a smaller variance for std_eps, which divides
    by d_model - 1; another mean for rms_norm. None depends on other tokens or on training mode.
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model.norm import BatchNorm, Norm
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, moved

MEAN, DEVIATION, EPS = 3.0, 2.0, 1e-5
SENTENCES = 4


class Normalisation(RandomModels):
    """A probe that applies a norm of the model, with its initial gain and bias, to random
    vectors.
    """

    largest = ("moments", "formula", "sentence", "modes", "company")
    smallest = ("control", "batch_modes", "batch_company")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return how far the outputs of a norm of the model, such as layer norm, deviate from
        expectations: for each measurement, the largest or the smallest value over all random
        vectors.
        """
        norm, width = first_norm(model), model.embedding.output_weight().size(1)
        generator = self.generator()
        return self.reduced(self.outputs(norm, width, generator) for _ in range(self.draws))

    def outputs(self, norm: Norm, width: int, generator: torch.Generator) -> Measured:
        """Yield the measurements of one set of random vectors.

        Yields:
            moments: deviation of an output token's mean from 0 or variance from 1.
            formula: difference from (x - mean) / sqrt(variance + eps), with the mean and the
                variance of each token.
            sentence: difference from this formula with the mean and the variance of the token's
                sentence.
            modes: difference between the outputs in training and in evaluation mode.
            company: change of a token's output if all other tokens change.
            control: largest change of a token's output if the token itself changes.
            batch_company: the largest value of `company` for batch normalisation in training mode.
            batch_modes: the largest value of `modes` for batch normalisation.
        """
        shape = (2, SENTENCES, self.length, width)
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        x, other = MEAN + DEVIATION * noise
        mixed = other.clone()
        mixed[0, 0] = x[0, 0]
        y = norm.eval()(x)
        yield "moments", moments_apart(y)
        yield "formula", moved(y, formula(x, (-1,)))
        yield "sentence", moved(y, formula(x, (-2, -1)))
        yield "modes", moved(y, norm.train()(x))
        yield "company", moved(y[0, 0], norm.eval()(mixed)[0, 0])
        yield "control", (y - norm(other)).abs().amax(-1)
        batch = BatchNorm(d_model=width, eps=EPS, momentum=1.0, padding="counted").double()
        trained = batch(x)[0, 0]
        yield "batch_company", moved(trained, batch(mixed)[0, 0])
        yield "batch_modes", moved(trained, batch.eval()(x)[0, 0])


def first_norm(model: Transformer) -> Norm:
    """Return a float64 copy of the first norm of a model."""
    return copy.deepcopy(next(m for m in model.modules() if isinstance(m, Norm))).double()


def moments_apart(x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B"]:
    """Return for each vector the distance of its mean from 0 or the distance of its variance from
    1, whichever is larger.
    """
    return torch.maximum(x.mean(-1).abs(), (x.var(-1, correction=0) - 1).abs())


def formula(x: Float[Tensor, "B L D"], over: tuple[int, ...]) -> Float[Tensor, "B L D"]:
    """Return x after layer normalisation, with the mean and the variance over the dimensions
    `over`.
    """
    mean, variance = x.mean(over, keepdim=True), x.var(over, correction=0, keepdim=True)
    return (x - mean) / (variance + EPS).sqrt()

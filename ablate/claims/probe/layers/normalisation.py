"""What a norm makes of vectors, and on what that depends.

Equation: mean and variance over d_model of y = norm(x), gain 1 and bias 0; and the distance of y
    from (x - mean) / sqrt(var + 1e-5), the formula of layer normalisation, with the statistics of
    the token or of its whole sentence. Batch normalisation of the same vectors is the control.
Source: arXiv:1607.06450, equation 4.
What differs: random vectors in float64, of mean 3 and standard deviation 2, as no layer has them.
What to expect: mean 0 and variance 1 for layer_norm; a smaller variance for std_eps, which
    divides by d_model - 1; another mean for rms_norm. None depends on other tokens, nor on whether
    the model trains.
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels, extremes
from ablate.model.norm.base import Norm
from ablate.model.norm.batch_norm import BatchNorm
from ablate.model.transformer import Transformer
from ablate.seeding import stream

MEAN, DEVIATION, EPS = 3.0, 2.0, 1e-5
SENTENCES = 4


class Normalisation(RandomModels):
    """Gives random vectors to a norm of the model, with its initial gain and bias."""

    measures = (
        *("moments", "formula", "sentence", "modes", "company"),
        *("control", "batch_modes", "batch_company"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws and tokens.

        moments: the largest distance of a mean from 0 or of a variance from 1; formula, sentence:
        that of an output from the formula for the token, and for its sentence; modes: that between
        training and evaluation; company: how far a token's output moves when all others are others;
        control: the least that it moves when it is another; batch_modes, batch_company: the least
        that batch normalisation moves it, the latter in training.
        """
        norm = copy.deepcopy(next(m for m in model.modules() if isinstance(m, Norm))).double()
        width = model.embedding.output_weight().size(1)
        generator = torch.Generator().manual_seed(stream(self.seed, type(self).__name__))
        found = [self.draw(norm, width, generator) for _ in range(self.draws)]
        return extremes(found, {"control", "batch_modes", "batch_company"})

    @torch.no_grad()
    def draw(self, norm: Norm, width: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements on random vectors."""
        shape = (2, SENTENCES, self.length, width)
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        x, other = MEAN + DEVIATION * noise
        mixed = other.clone()
        mixed[0, 0] = x[0, 0]
        y = norm.eval()(x)
        batch = BatchNorm(d_model=width, eps=EPS, momentum=1.0, padding="counted").double()
        trained = batch(x)[0, 0]
        return {
            "moments": torch.maximum(y.mean(-1).abs(), (y.var(-1, correction=0) - 1).abs()).max(),
            "formula": (y - formula(x, (-1,))).abs().max(),
            "sentence": (y - formula(x, (-2, -1))).abs().max(),
            "modes": (y - norm.train()(x)).abs().max(),
            "company": (y[0, 0] - norm.eval()(mixed)[0, 0]).abs().max(),
            "control": (y - norm(other)).abs().amax(-1).min(),
            "batch_company": (trained - batch(mixed)[0, 0]).abs().max(),
            "batch_modes": (trained - batch.eval()(x)[0, 0]).abs().max(),
        }


def formula(x: Float[Tensor, "B L D"], over: tuple[int, ...]) -> Float[Tensor, "B L D"]:
    """Return layer normalisation with statistics over these dimensions."""
    mean, variance = x.mean(over, keepdim=True), x.var(over, correction=0, keepdim=True)
    return (x - mean) / (variance + EPS).sqrt()

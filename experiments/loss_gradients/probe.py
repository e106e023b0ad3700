"""Check gradients of losses, and which probabilities a softmax sets to zero.

Equation: the gradient of cross-entropy by the logits is softmax(x) - y for a target y; the
    Kullback-Leibler divergence from a smoothed target has the same gradient as the cross-entropy
    with it.
Source: arXiv:1512.00567, section 7 (the gradient of cross-entropy); arXiv:1602.02068 (sparsemax).
What differs: cross-entropies come from this project; the divergence and all gradients from torch.
    Logits are random with standard deviation DEVIATION in float64; zeros are counted for logits
    from 0 to FARTHEST.
What to expect: equality up to rounding, also for many tokens; squared differences have other
    gradients. A softmax is never zero in exact arithmetic, but float32 has no number below 1e-45.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.data import PAD
from ablate.loss import CrossEntropy, LabelSmoothing, Loss
from ablate.model.transformer import Transformer
from experiments.shared.loss.difference import Difference
from experiments.shared.loss.sparsemax import sparsemax
from experiments.shared.probe.draws import Measured, RandomModels, moved

EPSILON, TARGET = 0.1, "not_true_nor_pad"
DEVIATION = 3.0
FARTHEST = 200.0


class LossGradients(RandomModels):
    """A probe that computes losses and their gradients for random logits.

    Args:
        draws: number of random matrices of logits.
        length: number of predicted tokens, which are the rows of a matrix.
        words: size of the vocabulary.
        seed: seed of logits and targets.

    Raises:
        UserError: `draws` is below 1, `length` is below 2, or `words` is below 5.
    """

    largest = ("subtraction", "divergence", "zeros", "zeros_float32")
    smallest = ("subtraction_control", "divergence_control", "zeros_sparsemax")

    words: Annotated[int, Range(5)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or the smallest value of each measurement over all draws of logits;
        the model is ignored.
        """
        generator = self.generator()
        return self.reduced(self.draw(model, generator) for _ in range(self.draws))

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one random matrix of logits.

        Yields:
            subtraction: largest difference between the gradient of cross-entropy and p - y, where p
                are the probabilities and y is the one-hot target.
            subtraction_control: largest such difference if the loss is a squared difference instead
                of cross-entropy.
            divergence: largest difference between the gradient of the divergence from a smoothed
                target and the gradient of cross-entropy with the same smoothed target.
            divergence_control: largest difference between the gradients of cross-entropy with the
                smoothed target and with the one-hot target.
            zeros, zeros_float32: fraction of probabilities of a softmax that are exactly zero, in
                float64 and in float32.
            zeros_sparsemax: fraction of probabilities of sparsemax that are exactly zero.
        """
        shape = self.length, self.words
        x = DEVIATION * torch.randn(shape, generator=generator, dtype=torch.float64)
        targets = torch.randint(PAD + 1, self.words, shape[:1], generator=generator)
        p_less_y = x.softmax(1)
        p_less_y[torch.arange(self.length), targets] -= 1
        smoothed = gradient(LabelSmoothing(epsilon=EPSILON, target=TARGET), x, targets)
        plain = gradient(CrossEntropy(), x, targets)
        yield "subtraction", moved(plain, p_less_y)
        yield "subtraction_control", moved(gradient(Difference(power=2), x, targets), p_less_y)
        yield "divergence", moved(divergence_gradient(x, targets), smoothed)
        yield "divergence_control", moved(plain, smoothed)
        far = FARTHEST * torch.rand(shape, generator=generator, dtype=torch.float64)
        far[:, 0], far[:, 1] = 0, FARTHEST
        yield "zeros", share_of_zeros(far.softmax(1))
        yield "zeros_float32", share_of_zeros(far.float().softmax(1))
        yield "zeros_sparsemax", share_of_zeros(sparsemax(far))


@torch.enable_grad()
def gradient(
    loss: Loss, x: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
) -> Float[Tensor, "N V"]:
    """Return the gradient of a loss, summed over all rows, with respect to the logits x."""
    x = x.clone().requires_grad_()
    objective, _ = loss(x, targets)
    (sum_gradient,) = torch.autograd.grad(objective * len(x), x)
    return sum_gradient


@torch.enable_grad()
def divergence_gradient(
    x: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
) -> Float[Tensor, "N V"]:
    """Return the gradient, with respect to the logits x, of the Kullback-Leibler divergence from
    the smoothed target q, sum_v q_v (log q_v - log p_v), summed over all rows.
    """
    q = torch.full_like(x, EPSILON / (x.size(1) - 2))
    q[:, PAD] = 0
    q[torch.arange(len(x)), targets] = 1 - EPSILON
    x = x.clone().requires_grad_()
    (sum_gradient,) = torch.autograd.grad(F.kl_div(x.log_softmax(1), q, reduction="sum"), x)
    return sum_gradient


def share_of_zeros(p: Float[Tensor, "N V"]) -> Float[Tensor, ""]:
    """Return the fraction of probabilities that are exactly zero."""
    return (p == 0).double().mean()

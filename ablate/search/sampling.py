"""Sampling: draw the next token of a text at random.

Equation: x_t is drawn from softmax(logits / temperature), among the `top` most likely tokens.
Source: arXiv:1805.04833, section 5.1 (top-k sampling); temperature as usual.
What differs: PAD, BOS and UNK are never drawn.
What to expect: a temperature of 1 samples from the model's distribution; lower temperatures give
    safer and more repetitive text; 0 takes the most likely token.
"""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.data.vocabulary import BOS, PAD, UNK

LEAST = 1e-30  # temperature below which float32 logits may become infinite


class Sampling(NamedTuple):
    """Draws random tokens from logits.

    Args:
        temperature: divisor of the logits; 0 takes the most likely token.
        top: number of most likely tokens to draw from; None for all.
    """

    temperature: Annotated[float, Range(0)]
    top: Annotated[int | None, Range(1)]

    def __call__(
        self, logits: Float[Tensor, "B V"], generator: torch.Generator
    ) -> Int[Tensor, " B"]:
        """Return a random token for each row of logits."""
        logits = logits.float().index_fill(1, torch.tensor([PAD, BOS, UNK]), -torch.inf)
        if self.temperature < LEAST:
            return logits.argmax(1)
        if self.top is not None and self.top < logits.size(1):
            least = logits.topk(self.top).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        weights = (logits / self.temperature).softmax(1)
        return torch.multinomial(weights, 1, generator=generator)[:, 0]

"""One small standard deviation for the whole model, as GPT-2 starts.

Equation: every matrix is normal with standard deviation `std`; those that write into the residual
    stream (the output projections of attention and of feed-forward sub-layers) are divided by
    sqrt(n), n the number of sub-layers; biases 0, gains 1.
Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1; 0.02 is the
    standard deviation of the authors' code.
What differs: every parameter draws from a generator of its own. N counts the sub-layers of the
    parameter's own stack, those that share weights each time they act.
What to expect: an nll of ln V at the start, since the states, and with a tied matrix the logits,
    are small; choose model.embedding.scaled=false with it, as in GPT-2.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from ablate.config.limits import Range
from ablate.data.tokenizer import Tokenizers
from ablate.initial.base import Initial
from ablate.initial.seeded import fill
from ablate.model.base import Model
from ablate.model.stack import Stack
from ablate.seeding import stream

WRITES = ("output.weight", "outer.weight")  # ends of the names of what writes into the stream


class Gpt2(Initial):
    """Draws every matrix alike.

    Args:
        std: standard deviation, of what does not write into the residual stream.
    """

    def __init__(self, *, std: Annotated[float, Range(0)]) -> None:
        self.std = std

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Fill every parameter in place."""
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(prefix=path, recurse=False):
                generator = torch.Generator(parameter.device).manual_seed(stream(seed, name))
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, std=self.std, generator=generator)
                else:
                    fill(module, name, parameter, generator)
        for part in model.modules():
            if isinstance(part, Stack):
                for parameter in writers(part):
                    parameter.div_(len(part.sublayers) ** 0.5)


def writers(stack: Stack) -> set[Tensor]:
    """Return the matrices of a stack that write into its residual stream, shared ones once."""
    return {p for name, p in stack.layers.named_parameters() if name.endswith(WRITES)}

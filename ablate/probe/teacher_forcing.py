"""Whether a decoder that sees the whole target computes what it computes token by token.

Equation: the largest |z_t(y_1 .. y_T) - z_t(y_1 .. y_t)| over positions t, z the logits: the right
    side from a decoder that is given the tokens up to t only, anew (prefix), and from one that is
    given them one at a time and keeps its keys and values (step).
Source: arXiv:1706.03762, section 3.2.3: the mask keeps the auto-regressive property.
What differs: random weights in float64, so that what is the same is so to the last bits. The same
    inputs are compared: in testing a model reads its own tokens, not the reference.
What to expect: 0 to 1e-12.
"""

import torch
from torch import Tensor

from ablate.model.transformer import Transformer
from ablate.probe.random_models import RandomModels
from ablate.probe.sentences import random_sentences

SENTENCES = 4


class TeacherForcing(RandomModels):
    """Decodes random sentences in three ways."""

    measures = ("prefix", "step", "control")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest differences, prefix and step, over all draws.

        control: the least over all draws of how far the logits of two neighbouring positions are
        apart, at most.
        """
        found = torch.stack([self.draw(*drawn) for drawn in self.models(model)])
        prefix, step, control = found.unbind(1)
        return {
            "prefix": float(prefix.max()),
            "step": float(step.max()),
            "control": float(control.min()),
        }

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> Tensor:
        """Return prefix, step and control under one set of weights."""
        lengths = torch.randint(1, self.length + 1, (SENTENCES,), generator=generator).tolist()
        src = random_sentences(model, lengths, generator)
        tgt = random_sentences(model, [self.length] * SENTENCES, generator)
        memory = model.encode(src)
        whole = model.head(model.decode(tgt, memory))
        prefix = [
            model.head(model.decode(tgt[:, :end], memory)[:, -1])
            for end in range(1, self.length + 1)
        ]
        state = model.start(src, beams=1)
        step = [model.head(model.step(tokens, state)) for tokens in tgt.T]
        neighbours = (whole[:, 1:] - whole[:, :-1]).abs().amax(-1)
        return torch.stack(
            [
                (whole - torch.stack(prefix, 1)).abs().max(),
                (whole - torch.stack(step, 1)).abs().max(),
                neighbours.max(),
            ]
        )

"""Check that decoding a whole target at once equals decoding it token by token.

Equation: the largest |z_t(y_1 .. y_T) - z_t(y_1 .. y_t)| over positions t, z the logits: the right
    side from a decoder that processes each prefix from scratch (prefix), and from one that
    processes one token at a time and caches keys and values (step).
Source: arXiv:1706.03762, section 3.2.3: the mask keeps the auto-regressive property.
What differs: random weights in float64, so that equality holds up to rounding. Both read the same
    tokens; in testing, a model would read its predictions rather than the reference.
What to expect: 0 to 1e-12.
"""

import torch
from torch import Tensor

from ablate.model.attention.multi_head import SelfAttention
from ablate.model.stack import Memory
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, RandomModels, moved

SENTENCES = 4


class TeacherForcing(RandomModels):
    """A probe that decodes random sentences at once, prefix by prefix, and token by token with
    caches.
    """

    largest = ("prefix", "step")
    smallest = ("control",)

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield differences of logits between ways to decode a target, the largest over all
        positions, for one set of random weights and sentences.

        Yields:
            prefix: difference between decoding the whole target at once and decoding each prefix of
                the target from scratch.
            step: difference between decoding the whole target at once and decoding token by token
                with caches.
            control: the first difference for a decoder without a causal mask.
        """
        lengths = torch.randint(1, self.length + 1, (SENTENCES,), generator=generator).tolist()
        src = random_sentences(model, lengths, generator)
        tgt = random_sentences(model, [self.length] * SENTENCES, generator)
        memory = model.encode(src)
        whole, prefix = read(model, tgt, memory)
        yield "prefix", moved(whole, prefix)
        state = model.start(src, beams=1)
        steps = [model.head(model.step(tokens, state)) for tokens in tgt.T]
        yield "step", moved(whole, torch.stack(steps, 1))
        unmask(model)
        yield "control", moved(*read(model, tgt, memory))


def read(model: Transformer, tgt: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
    """Return at each position the logits for the whole target, and the logits for only the prefix
    of the target up to this position.
    """
    ends = range(1, tgt.size(1) + 1)
    prefix = [model.head(model.decode(tgt[:, :end], memory)[:, -1]) for end in ends]
    return model.head(model.decode(tgt, memory)), torch.stack(prefix, 1)


def unmask(model: Transformer) -> None:
    """Remove the causal mask of the decoder."""
    for part in model.modules():
        if isinstance(part, SelfAttention):
            part.look_ahead = True

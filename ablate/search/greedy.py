"""Greedy search: choose the most likely next token at every step.

Equation: y_t = argmax over v of p(v | y_1 .. y_{t-1}, source), until EOS or the length limit.
Source: standard decoding, e.g. arXiv:1409.3215, section 3.2, with beam size 1. What differs: PAD
    and BOS cannot be chosen.
What to expect: about one BLEU point less than beam search, in a fraction of the time. Validation
    uses greedy search.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.data.vocabulary import BOS, EOS
from ablate.search.base import (
    Model,
    Search,
    reads_device,
    until_eos,
    worth_dropping,
)
from ablate.search.largest import largest


class Greedy(Search):
    """Greedy search: the most likely next token at every step."""

    @torch.inference_mode()
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""
        if not len(src):
            return []
        limits = self.limits(src)
        tokens_so_far = src.new_full((len(src), int(limits.max())), EOS)
        self.steps = torch.zeros_like(limits)
        state = model.start(src, beams=1)
        sentence = torch.arange(len(src), device=src.device)
        tokens = torch.full_like(sentence, BOS)
        live = torch.ones_like(sentence, dtype=torch.bool)
        for length in range(1, tokens_so_far.size(1) + 1):
            self.steps[sentence] += live
            logits = model.head(model.step(tokens, state))
            # EOS is the first id that may be chosen
            tokens = largest(logits[:, EOS:], 1)[1][:, 0] + EOS
            tokens_so_far[sentence, length - 1] = tokens  # tokens after EOS are cut off below
            live &= (tokens != EOS) & (limits[sentence] > length)
            if not reads_device(length, src.device):
                continue
            n_live = int(live.sum())
            if not n_live:
                break
            if worth_dropping(n_live, len(live)):
                kept = live.nonzero()[:, 0]
                state.keep(kept)
                sentence, tokens, live = sentence[kept], tokens[kept], live[kept]
        return until_eos(tokens_so_far, limits)

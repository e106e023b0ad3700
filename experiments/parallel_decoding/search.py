"""Greedy search as a fixed point, all positions at once.

Equation: y_t <- argmax over v of p(v | y_1 .. y_{t-1}, source) for all t together, from any y,
    until nothing changes before the first EOS.
Source: arXiv:2305.10427, section 3.1 (parallel Jacobi decoding).
What differs: every sentence stops separately and leaves the batch; the whole sequence up to the
    length limit is one block, the first guess is EOS everywhere, and every pass encodes the source
    again.
What to expect: the translations of greedy search up to rounding, in at most as many passes as
    greedy search has steps; each pass processes a whole sequence, so a CPU gains nothing.
"""

from typing import Any, cast

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ablate.data import BOS, EOS
from ablate.model import Seq2Seq
from ablate.search import Model, Search, largest, until_eos, worth_dropping


class Jacobi(Search):
    """A search that finds the greedy translation by passes over whole sequences."""

    @torch.inference_mode()
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""
        if not len(src):
            return []
        limits = self.limits(src)
        translations = src.new_full((len(src), int(limits.max())), EOS)
        self.steps = torch.zeros_like(limits)
        sentence = torch.arange(len(src), device=src.device)
        live = torch.ones_like(sentence, dtype=torch.bool)
        for number in range(1, translations.size(1) + 1):
            self.steps[sentence[live]] = number
            guess = translations[sentence]
            better = improved(model, src[sentence], guess)
            translations[sentence] = better
            live = ~settled(guess, better, limits[sentence]) & (limits[sentence] > number)
            if not live.any():
                break
            if worth_dropping(int(live.sum()), len(live)):
                sentence, live = sentence[live], live[live]
        return until_eos(translations, limits)


def improved(
    model: Model, src: Int[Tensor, "M S"], guess: Int[Tensor, "M T"]
) -> Int[Tensor, "M T"]:
    """Return the most likely next token after every prefix of each guess."""
    tgt_in = guess.roll(1, 1)
    tgt_in[:, 0] = BOS
    states = cast("Any", model)(Seq2Seq(src, tgt_in)).flatten(0, 1)
    best = torch.empty_like(guess).flatten()
    for rows in model.head.chunks(len(states)):
        # EOS is the first id that may be chosen
        best[rows] = largest(model.head(states[rows])[:, EOS:], 1)[1][:, 0] + EOS
    return best.view_as(guess)


def settled(
    guess: Int[Tensor, "M T"], better: Int[Tensor, "M T"], limits: Int[Tensor, " M"]
) -> Bool[Tensor, " M"]:
    """Return for each row whether the guess is final: all tokens before the first EOS, or before
    the row's limit, have stayed the same.
    """
    places = torch.arange(better.size(1), device=better.device)
    before = ((better == EOS).cumsum(1) == 0) & (places < limits[:, None])
    return ((guess == better) | ~before).all(1)

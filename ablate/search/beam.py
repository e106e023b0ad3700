"""Beam search with a length penalty.

Equation: the translation y, EOS counted in its length |y|, with the largest
log p(y | source) / ((5 + |y|) / 6)^alpha among the hypotheses that the beam meets.
Source: arXiv:1609.08144 (GNMT), section 7, equation 14, without its coverage penalty.
What differs from the source: hypotheses are not pruned by score; PAD and BOS cannot be chosen,
without renormalising p; at the length limit a hypothesis must end, and pays for its EOS.
What to expect: alpha 0 favours short translations, 0.6 is usual; size 1 with alpha 0 is greedy.

At each step the `size` best unfinished continuations go on; an ending counts when it is among the
`size` best of all continuations, ended or not. A sentence is done as soon as no unfinished
hypothesis can still win: a log-probability never rises, and no hypothesis gets longer than the
limit L, so a live one scores at most log p(so far) / ((5 + L + 1) / 6)^alpha, and the search stops
when the best finished score is at least that of the best live one. Stopping therefore changes no
result.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.data.vocabulary import BOS, EOS
from ablate.search.base import (
    Model,
    Search,
    require,
    until_eos,
    worth_dropping,
)
from ablate.search.largest import largest

FIRST = EOS + 1  # of the ids that do not end a hypothesis
NEVER = float("-inf")


class Hypothesis(NamedTuple):
    """A translation, without EOS, and what it is ranked by."""

    ids: list[int]
    quality: float  # its log-probability over the length penalty


class Beam(Search):
    """Beam search.

    Raises:
        UserError: `size` is below 1, another setting negative, or one of them no number.
    """

    def __init__(
        self, size: int, length_penalty: int | float, max_ratio: int | float, max_extra: int
    ):
        super().__init__(max_ratio, max_extra)
        require(int, 1, size=size)
        require(float, 0, length_penalty=length_penalty)
        self.size = size
        self.length_penalty = length_penalty

    @torch.inference_mode()
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""
        if not len(src):
            return []
        limits = self.limits(src)
        beams = _Beams(limits, self.size, self.length_penalty)
        self._run(model, src, beams)
        return until_eos(beams.found, limits)

    @torch.inference_mode()
    def n_best(self, model: Model, src: Int[Tensor, "B S"], n: int) -> list[list[Hypothesis]]:
        """Return the n best translations of each source, the best one first.

        They are the best of all that the beam meets, which may be fewer than n.
        """
        if not len(src):
            return []
        limits = self.limits(src)
        beams = _Lists(limits, self.size, self.length_penalty, n)
        self._run(model, src, beams)
        return beams.lists

    def _run(self, model: Model, src: Int[Tensor, "B S"], beams: "_Beams") -> None:
        """Search until no sentence has a hypothesis that can still win."""
        state = model.start(src, self.size)
        for _ in range(int(beams.limits.max()) + 1):
            parents = beams.advance(model.head(model.step(beams.tokens.flatten(), state)))
            live = beams.live()
            n_live = int(live.sum())
            if not n_live:
                break
            state.reorder(parents)
            if worth_dropping(n_live, len(live)):
                kept = live.nonzero()[:, 0]
                state.keep(kept)
                beams.keep(kept)


class _Beams:
    """The hypotheses of M sentences still in the batch, and the best finished ones of all B."""

    def __init__(self, limits: Int[Tensor, " B"], size: int, length_penalty: float):
        n = len(limits)
        self.alpha = length_penalty
        self.limits = limits
        self.sentence = torch.arange(n, device=limits.device)
        self.tokens = limits.new_full((n, size), BOS)
        self.prefix = limits.new_empty((n, size, 0))
        # all hypotheses are equal at first: only one of them may go on
        # in float32 whatever the precision of the model, as log-probabilities are
        self.score = torch.full((n, size), NEVER, dtype=torch.float32, device=limits.device)
        self.score[:, 0] = 0
        self.best = torch.full((n,), NEVER, dtype=torch.float32, device=limits.device)
        self.found = limits.new_full((n, int(limits.max())), EOS)

    def penalty(self, length: Int[Tensor, " M"] | int) -> Float[Tensor, " M"] | float:
        """Return the divisor of a hypothesis of so many tokens, EOS counted."""
        return ((5 + length) / 6) ** self.alpha

    def advance(self, logits: Float[Tensor, "R V"]) -> Int[Tensor, " R"]:
        """Continue every hypothesis by one token; return the rows that the new ones come from."""
        n, size = self.score.shape
        log_p = logits.float().log_softmax(-1)
        ended = self.score + log_p[:, EOS].view(n, size)
        top, token = largest(log_p[:, FIRST:], min(size, log_p.size(1) - FIRST))
        score, at = (self.score[:, :, None] + top.view(n, size, -1)).flatten(1).topk(size)
        parent = at // top.size(1)
        self._finish(ended, score)
        full = self.limits == self.prefix.size(2)
        self.score = score.masked_fill(full[:, None], NEVER)
        self.tokens = token.view(n, -1).gather(1, at) + FIRST
        history = self.prefix.gather(1, parent[:, :, None].expand_as(self.prefix))
        self.prefix = torch.cat([history, self.tokens[:, :, None]], 2)
        return (torch.arange(n, device=at.device)[:, None] * size + parent).flatten()

    def _finish(self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]) -> None:
        """Keep the best ending of each sentence if it beats all before it."""
        length, last_place = self.prefix.size(2), self._last_place(ended, score)
        value, row = ended.max(1)
        quality = value / self.penalty(length + 1)
        better = (value >= last_place) & (quality > self.best[self.sentence])
        rows = better.nonzero()[:, 0]
        self.best[self.sentence[rows]] = quality[rows]
        self.found[self.sentence[rows], :length] = self.prefix[rows, row[rows]]

    def _last_place(
        self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]
    ) -> Float[Tensor, " M"]:
        """Return the log-probability that an ending must have to count."""
        last_place = torch.cat([ended, score], 1).topk(score.size(1)).values[:, -1]
        last_place[self.limits == self.prefix.size(2)] = NEVER
        return last_place

    def live(self) -> Bool[Tensor, " M"]:
        """Which sentences have a hypothesis that can still win."""
        return self.best[self.sentence] < self.score[:, 0] / self.penalty(self.limits + 1)

    def keep(self, kept: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these."""
        self.limits, self.sentence = self.limits[kept], self.sentence[kept]
        self.tokens, self.prefix = self.tokens[kept], self.prefix[kept]
        self.score = self.score[kept]


class _Lists(_Beams):
    """Keeps the n best finished hypotheses; `best` is the quality of the last of them."""

    def __init__(self, limits: Int[Tensor, " B"], size: int, length_penalty: float, n: int):
        super().__init__(limits, size, length_penalty)
        self.n = n
        self.lists: list[list[Hypothesis]] = [[] for _ in range(len(limits))]

    def _finish(self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]) -> None:
        """Keep the endings that are among the best so far."""
        quality = ended / self.penalty(self.prefix.size(2) + 1)
        counts = ended >= self._last_place(ended, score)[:, None]
        better = counts & (quality > self.best[self.sentence][:, None])
        for row, beam in better.nonzero().tolist():
            sentence = int(self.sentence[row])
            found = Hypothesis(self.prefix[row, beam].tolist(), float(quality[row, beam]))
            ranked = sorted([*self.lists[sentence], found], key=lambda one: -one.quality)
            self.lists[sentence] = ranked[: self.n]
            if len(ranked) >= self.n:
                self.best[sentence] = ranked[self.n - 1].quality

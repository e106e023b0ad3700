"""Beam search."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.data import BOS, EOS
from ablate.search import (
    MaxExtra,
    MaxRatio,
    Model,
    Search,
    largest,
    reads_device,
    until_eos,
    worth_dropping,
)

FIRST = EOS + 1  # first id that does not end a hypothesis
NEVER = float("-inf")


class Beam(Search):
    """Beam search with a length penalty.

    Beam search with `size` hypotheses per sentence and a length penalty.

    Equation: the translation y with the largest log p(y | source) / ((5 + |y|) / 6)^alpha among the
        hypotheses in the beam; the length |y| includes EOS.
    Source: arXiv:1609.08144 (GNMT), section 7, equation 14, without its coverage penalty.
    What differs: hypotheses are not pruned by score; PAD and BOS are excluded without renormalising
        p; at the length limit a hypothesis must end, and the log-probability of EOS is added to its
        score.
    What to expect: alpha 0 favours short translations, 0.6 is usual; size 1 with alpha 0 is greedy
        search.

    At each step the `size` best unfinished continuations are kept; a hypothesis that ends in EOS is
    accepted if it is among the `size` best of all continuations. A sentence is done when no
    unfinished hypothesis can win: log-probabilities never increase, and lengths are limited by L,
    so an unfinished hypothesis scores at most log p(so far) / ((5 + L + 1) / 6)^alpha. Therefore
    stopping early does not change the result.
    """

    def __init__(
        self,
        size: Annotated[int, Range(1, 1_000)],
        length_penalty: Annotated[int | float, Range(0, 10)],
        max_ratio: MaxRatio,
        max_extra: MaxExtra,
    ):
        super().__init__(max_ratio, max_extra)
        self.size = size
        self.length_penalty = length_penalty

    @torch.inference_mode()
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""
        if not len(src):
            return []
        limits = self.limits(src)
        beams = Beams(limits, self.size, self.length_penalty)
        self.run(model, src, beams)
        return until_eos(beams.finished, limits)

    def run(self, model: Model, src: Int[Tensor, "B S"], beams: "Beams") -> None:
        """Search until no sentence has a hypothesis that can still win."""
        state = model.start(src, self.size)
        for length in range(1, beams.finished.size(1) + 2):
            parents = beams.advance(model.head(model.step(beams.tokens.flatten(), state)))
            state.reorder(parents)
            if not reads_device(length, src.device):
                continue
            live = beams.live()
            n_live = int(live.sum())
            if not n_live:
                break
            if worth_dropping(n_live, len(live)):
                kept = live.nonzero()[:, 0]
                state.keep(kept)
                beams.keep(kept)


class Beams:
    """The beams of unfinished sentences, and the best finished hypothesis of every sentence.

    M is the number of unfinished sentences, and B the number of all sentences.
    """

    def __init__(self, limits: Int[Tensor, " B"], size: int, length_penalty: float):
        n = len(limits)
        self.alpha = length_penalty
        self.limits = limits
        self.sentence = torch.arange(n, device=limits.device)
        self.tokens = limits.new_full((n, size), BOS)
        self.prefix = limits.new_empty((n, size, 0))
        # all hypotheses are equal at first, so only one may continue; the score is in float32 like
        # log-probabilities, whatever the precision of the model
        self.score = torch.full((n, size), NEVER, dtype=torch.float32, device=limits.device)
        self.score[:, 0] = 0
        self.best = torch.full((n,), NEVER, dtype=torch.float32, device=limits.device)
        self.finished = limits.new_full((n, int(limits.max())), EOS)

    def penalty(self, length: Int[Tensor, " M"] | int) -> Float[Tensor, " M"] | float:
        """Return the length penalty of a hypothesis with this number of tokens, including EOS."""
        return ((5 + length) / 6) ** self.alpha

    def advance(self, logits: Float[Tensor, "R V"]) -> Int[Tensor, " R"]:
        """Extend the hypotheses by one token; return the row that each new hypothesis continues."""
        n, size = self.score.shape
        log_p = logits.float().log_softmax(-1)
        ended = self.score + log_p[:, EOS].view(n, size)
        top, token = largest(log_p[:, FIRST:], min(size, log_p.size(1) - FIRST))
        score, at = (self.score[:, :, None] + top.view(n, size, -1)).flatten(1).topk(size)
        parent = at // top.size(1)
        self.finish(ended, score)
        full = self.limits == self.prefix.size(2)
        self.score = score.masked_fill(full[:, None], NEVER)
        self.tokens = token.view(n, -1).gather(1, at) + FIRST
        history = self.prefix.gather(1, parent[:, :, None].expand_as(self.prefix))
        self.prefix = torch.cat([history, self.tokens[:, :, None]], 2)
        return (torch.arange(n, device=at.device)[:, None] * size + parent).flatten()

    def finish(self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]) -> None:
        """Store, for each sentence, the best hypothesis that ends now, if it is the best so far.

        The hypothesis must also be accepted, as `last_place` requires.

        Args:
            ended: for each sentence, the log-probabilities of its K hypotheses if they end now.
            score: for each sentence, the log-probabilities of the K best continuations that do not
                end.
        """
        length, last_place = self.prefix.size(2), self.last_place(ended, score)
        value, row = ended.max(1)
        quality = value / self.penalty(length + 1)
        best = self.best[self.sentence]
        better = (value >= last_place) & (quality > best)
        self.best[self.sentence] = quality.where(better, best)
        texts = self.prefix.gather(1, row[:, None, None].expand(-1, 1, length))[:, 0]
        finished = self.finished[self.sentence, :length]
        self.finished[self.sentence, :length] = texts.where(better[:, None], finished)

    def last_place(
        self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]
    ) -> Float[Tensor, " M"]:
        """Return, for each sentence, the lowest log-probability of an accepted hypothesis.

        A hypothesis that ends now is accepted if it is among the K best of all continuations. At
        the length limit, every hypothesis is accepted.
        """
        last_place = torch.cat([ended, score], 1).topk(score.size(1)).values[:, -1]
        return last_place.masked_fill(self.limits == self.prefix.size(2), NEVER)

    def live(self) -> Bool[Tensor, " M"]:
        """Return a mask of the sentences with an unfinished hypothesis that can still win."""
        return self.best[self.sentence] < self.score[:, 0] / self.penalty(self.limits + 1)

    def keep(self, kept: Int[Tensor, " M"]) -> None:
        """Keep the beams of the given sentences and drop all other beams."""
        self.limits, self.sentence = self.limits[kept], self.sentence[kept]
        self.tokens, self.prefix = self.tokens[kept], self.prefix[kept]
        self.score = self.score[kept]

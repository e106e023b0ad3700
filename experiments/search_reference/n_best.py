"""The n best translations of each source by a beam search."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.search import Model
from ablate.search.beam import Beam, Beams

Ids = tuple[int, ...]


class ListBeams(Beams):
    """Beams that store the n best finished hypotheses of each sentence.

    `best` is the score that a hypothesis has to exceed: that of the n-th best finished hypothesis
    of its sentence. A sentence is done when no unfinished hypothesis can exceed this score.
    """

    def __init__(self, limits: Int[Tensor, " B"], size: int, length_penalty: float, n: int):
        super().__init__(limits, size, length_penalty)
        self.n = n
        # score and ids of each hypothesis, the best first
        self.lists: list[list[tuple[float, Ids]]] = [[] for _ in range(len(limits))]

    def finish(self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]) -> None:
        """Store the hypotheses that end now and are among the n best of their sentence."""
        quality = ended / self.penalty(self.prefix.size(2) + 1)
        counts = ended >= self.last_place(ended, score)[:, None]
        better = counts & (quality > self.best[self.sentence][:, None])
        for row, beam in better.nonzero().tolist():
            sentence = int(self.sentence[row])
            hypothesis = float(quality[row, beam]), tuple(self.prefix[row, beam].tolist())
            ranked = sorted([*self.lists[sentence], hypothesis], key=lambda entry: -entry[0])
            self.lists[sentence] = ranked[: self.n]
            if len(ranked) >= self.n:
                self.best[sentence] = ranked[self.n - 1][0]


@torch.inference_mode()
def n_best(beam: Beam, model: Model, src: Int[Tensor, "B S"], n: int) -> list[list[Ids]]:
    """Return the n best translations of each source by a beam search, the best first.

    Only hypotheses in the beam are considered, so a list may have fewer than n translations.
    """
    beams = ListBeams(beam.limits(src), beam.size, beam.length_penalty, n)
    beam.run(model, src, beams)
    return [[ids for _, ids in ranked] for ranked in beams.lists]

"""Initialise embeddings with GloVe vectors; other parameters are random.

Equation: minimise sum over i, j of f(X_ij) (w_i . c_j + a_i + b_j - log X_ij)^2, where X_ij counts
    how often subwords i and j are within 10 subwords of each other, weighted by the inverse of
    their distance, and f(x) = min(1, (x / 100)^0.75); then E[i] = w_i + c_i.
Source: doi:10.3115/v1/D14-1162 (GloVe), equation 8, with the window, the weights and AdaGrad at
    rate 0.05 of its section 4.2.
What differs: subwords rather than words, all entries of X in every step, and vectors that are
    centred and scaled to the variance of the random values. Subwords that are missing in the text
    keep their random values.
What to expect: faster learning with few pairs and much text; little effect with many pairs.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Count
from ablate.data import Corpus
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.errors import UserError
from ablate.initial import Initial, initialise
from ablate.model import Model
from ablate.model.embedding import Table, TiedAll
from ablate.process import stream

WINDOW = 10
COMMON, POWER = 100, 0.75


class Glove(Initial):
    """An initialisation that learns the embeddings of source and target subwords from text.

    Args:
        text: a corpus. Source vectors are learned from the source texts of its training split, and
            target vectors from the target texts; the vectors of model/embedding=tied_all are
            learned from both.
        steps: number of optimiser steps in which the vectors are learned.
    """

    def __init__(self, *, text: Corpus, steps: Count) -> None:
        self.text, self.steps = text, steps

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter of the model in place: the embeddings with GloVe vectors, and
        all other parameters randomly.

        Raises:
            UserError: no two subwords of the source vocabulary, or of the target vocabulary, occur
                near each other in the text.
        """
        initialise(model, seed)
        pairs = self.text.read("train")
        for name, table in model.named_modules():
            if isinstance(table, Table):
                side = "src" if name.endswith("src") else "tgt"
                counts = company(getattr(tokenizers, side), getattr(pairs, side))
                if isinstance(model.embedding, TiedAll):
                    counts += company(tokenizers.src, pairs.src)
                if not counts.any():
                    raise UserError(
                        f"initial.text has no two words of the {side} vocabulary beside each "
                        "other, from which vectors could be learned"
                    )
                generator = torch.Generator().manual_seed(stream(seed, f"{name}.glove"))
                replace(table.weight, vectors(counts, table.weight.size(1), self.steps, generator))

    def fingerprint(self) -> str:
        """Return the fingerprint of the corpus from which the vectors are learned."""
        return self.text.fingerprint()


def company(tokenizer: Tokenizer, lines: Sequence[str]) -> Float[Tensor, "V V"]:
    """Return for each pair of subwords how often the two occur in the same line at most `WINDOW`
    subwords apart; each occurrence counts as 1 / distance.
    """
    counts = torch.zeros(tokenizer.size * tokenizer.size)
    lists = tokenizer.encode_batch(lines)
    ids = torch.tensor([i for line in lists for i in line])
    line = torch.tensor([len(ids_of_line) for ids_of_line in lists])
    line = torch.repeat_interleave(torch.arange(len(lists)), line)
    for distance in range(1, WINDOW + 1):
        together = line[distance:] == line[:-distance]
        places = (ids[distance:] * tokenizer.size + ids[:-distance])[together]
        counts += torch.bincount(places, minlength=counts.numel()) / distance
    counts = counts.view(tokenizer.size, tokenizer.size)
    return counts + counts.T


@torch.enable_grad()
def vectors(
    counts: Float[Tensor, "V V"], width: int, steps: int, generator: torch.Generator
) -> Float[Tensor, "V d"]:
    """Return the GloVe vector of every subword; the vector of a subword without co-occurrences
    is 0.

    Args:
        counts: number of co-occurrences of each pair of subwords; see `company`.
        width: number of entries of a vector.
        steps: number of optimiser steps.
        generator: source of the initial values.
    """
    # The weight is 0 without co-occurrences, so the target has no effect there.
    weight = (counts / COMMON).clamp(max=1) ** POWER
    target = counts.clamp(min=torch.finfo().tiny).log()
    size = (2, counts.size(0), width + 1)  # words and contexts; the last column is the bias
    both = ((torch.rand(size, generator=generator) - 0.5) / width).requires_grad_()
    optimizer = torch.optim.Adagrad([both], lr=0.05)
    for _ in range(steps):
        words, contexts = both[..., :-1]
        scores = words @ contexts.T + both[0, :, -1:] + both[1, :, -1]
        loss = (weight * (scores - target) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seen = counts.any(dim=1, keepdim=True)
    return both.detach()[..., :-1].sum(0) * seen


@torch.no_grad()
def replace(weight: Tensor, learned: Float[Tensor, "V d"]) -> None:
    """Replace the random values in `weight` by learned vectors, centred and scaled to the same
    variance. Rows whose learned vector is 0 keep their random values.
    """
    seen = learned.any(dim=1)
    centred = learned[seen] - learned[seen].mean(0)
    weight[seen] = (centred / centred.std() * weight[seen].std()).to(weight)

"""What a trained encoder knows of the places of its tokens.

Places: a ridge regression of the place on the encoder's output, fitted on random tokens in
    sentences of odd lengths and judged on other ones of even lengths; R2 on these. The end mark is
    left out.
    For pairs it is the signed distance, from both vectors. Random tokens have no grammar that a
    place could be guessed from.
Scores: the share of the variance of the first layer's scores that their signed distance explains,
    on sentences of the corpus; what all keys of a query have alike is taken off first, as the
    softmax does not see it.
Source: arXiv:1911.04474, section 4.1, for what projections do to the distances in sinusoids.
What to expect: without positions an encoder cannot tell equal tokens apart, so R2 is about 0 there.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.claims.measure.gold import sentences
from ablate.claims.measure.inside import watched
from ablate.claims.measure.words import read
from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.data.vocabulary import EOS, PAD
from ablate.measure.base import Measure
from ablate.model.transformer import Transformer
from ablate.seeding import stream

LENGTHS = range(6, 22)  # tokens
FARTHEST = 10  # tokens between a query and a key, in scores
RIDGE = 1e-3  # of the mean square of a column, per row


class Positions(Measure):
    """Reads places off states and scores.

    Args:
        given: whether the encoder is told where its tokens stand; if not, all stand at 0.
        sentences: random ones of each length, and of validation and of test for the scores.
    """

    measures = ("place", "distance", "distance_in_scores", "distance_in_best_head")

    def __init__(self, *, given: bool, sentences: Count) -> None:
        self.given, self.sentences = given, sentences

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return shares of variance.

        place, distance: of a token's place and of the distance of two, from states; distance_in_*:
        of scores in the first layer, mean over heads, and in the head that is best on validation.
        """
        known, asked = (self.states(model, data, odd) for odd in (1, 0))
        chosen, judged = (self.explained(model, data, split) for split in ("validation", "test"))
        return {
            "place": linear_r2(places(known), places(asked)),
            "distance": linear_r2(pairs(known), pairs(asked)),
            "distance_in_scores": float(judged.mean()),
            "distance_in_best_head": float(judged[chosen.argmax()]),
        }

    def states(self, model: Transformer, data: TextData, odd: int) -> list[Float[Tensor, "B _ D"]]:
        """Return the encoder's output for random sentences of odd or even lengths."""
        generator = torch.Generator().manual_seed(stream(odd, "Positions"))
        found = []
        for length in (n for n in LENGTHS if n % 2 == odd):
            drawn = (self.sentences, length)
            src = torch.randint(EOS + 2, data.src_vocab, drawn, generator=generator)
            src = torch.cat([src, torch.full((len(src), 1), EOS)], 1)
            with torch.no_grad():
                found.append(self.encoded(model, src)[:, :-1])
        return found

    def encoded(self, model: Transformer, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return what the encoder makes of sources."""
        stand = torch.arange(src.size(1))[None] * int(self.given)
        encoded: Tensor = model.encoder(model.embedding.embed_src(src), src != PAD, positions=stand)
        return encoded

    def explained(self, model: Transformer, data: TextData, split: str) -> Float[Tensor, " H"]:
        """Return of each head what distance explains of the first layer's scores."""
        src = read(sentences(split, self.sentences), data.tokenizers).inputs.src
        with watched(model) as attended:
            self.encoded(model, src)
        real = src != PAD
        both = real[:, :, None] & real[:, None]
        scores = attended["encoder.0.self"].scores.transpose(0, 1)  # H B Q K
        mean = (scores * both).sum(-1, keepdim=True) / both.sum(-1, keepdim=True).clamp(min=1)
        at = torch.arange(src.size(1))
        apart = (at - at[:, None]).expand_as(both)
        near = both & (apart.abs() <= FARTHEST)
        return torch.stack([share_of_groups(one[near], apart[near]) for one in scores - mean])


def places(states: list[Float[Tensor, "B _ D"]]) -> tuple[Tensor, Tensor]:
    """Return states and their places."""
    x = torch.cat([one.flatten(0, 1) for one in states])
    return x, torch.cat([torch.arange(one.size(1)).repeat(len(one)) for one in states]).to(x.dtype)


def pairs(states: list[Float[Tensor, "B _ D"]]) -> tuple[Tensor, Tensor]:
    """Return both states of random pairs of one sentence each, and their distance."""
    generator = torch.Generator().manual_seed(stream(0, "Positions/pairs"))
    found, apart = [], []
    for one in states:
        rows = torch.arange(len(one))
        for _ in range(one.size(1)):
            i, j = torch.randint(one.size(1), (2, len(one)), generator=generator)
            found.append(torch.cat([one[rows, i], one[rows, j]], 1))
            apart.append(j - i)
    return torch.cat(found), torch.cat(apart).to(found[0].dtype)


def linear_r2(known: tuple[Tensor, Tensor], asked: tuple[Tensor, Tensor]) -> float:
    """Return the share of variance that a ridge regression explains on other rows."""
    x, y = known
    centre, mean = x.mean(0), y.mean()
    z = x - centre
    penalty = RIDGE * len(z) * z.square().mean() * torch.eye(z.size(1), dtype=z.dtype)
    slopes = torch.linalg.solve(z.T @ z + penalty, z.T @ (y - mean))
    left = asked[1] - mean - (asked[0] - centre) @ slopes
    return float(1 - left.square().mean() / asked[1].var(correction=0))


def share_of_groups(values: Float[Tensor, " N"], group: Int[Tensor, " N"]) -> Float[Tensor, ""]:
    """Return the share of the variance that lies between groups."""
    number = group - group.min()
    sums = values.new_zeros(int(number.max()) + 1).index_add_(0, number, values)
    means = sums / number.bincount().clamp(min=1)
    return means[number].var(correction=0) / values.var(correction=0)

"""Measure how well the states of a trained encoder predict positions.

Equation: two kinds of measurements. `place` and `distance`: R2 of a ridge regression of the
    position on the encoder's output, fitted on random sentences of odd lengths and evaluated on
    random sentences of even lengths, without the end token; for pairs of tokens, the signed
    distance is predicted from both vectors. Random tokens have no grammar from which a position
    could be guessed. `distance_in_scores` and `distance_in_best_head`: the fraction of the variance
    of the first layer's attention scores that the signed distance explains, on sentences of the
    corpus; the mean over the keys of each query is subtracted first, because the softmax ignores
    it.
Source: arXiv:1911.04474, section 4.1, for the effect of projections on distances in sinusoidal
    positions.
What to expect: without positions an encoder cannot tell equal tokens apart, so R2 is about 0.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data import EOS, PAD
from ablate.data.module import TextData
from ablate.measure import Measure
from ablate.model.transformer import Transformer
from ablate.process import stream
from experiments.shared.measure.gold import sentences
from experiments.shared.measure.inside import watched
from experiments.shared.measure.kernels import scale_of
from experiments.shared.measure.words import read

LENGTHS = range(6, 22)  # tokens
FARTHEST = 10  # largest distance in tokens between a query and a key whose score counts
RIDGE = 1e-3  # penalty relative to the mean square of a column, per row


class Positions(Measure):
    """A measurement of how well positions can be predicted from encoder states and attention
    scores.

    Args:
        given: whether the encoder receives positions; false: every token has position 0.
        sentences: number of random sentences of each length, of validation sentences, and of test
            sentences.
    """

    measures = ("place", "distance", "distance_in_scores", "distance_in_best_head")
    reads_weights = True

    def __init__(self, *, given: bool, sentences: Count) -> None:
        self.given, self.sentences = given, sentences

    def check_model(self, model: Transformer) -> None:
        """Raise UserError if the first layer has attention scores other than scaled dot products,
        or for a model without attention weights.
        """
        super().check_model(model)
        scale_of(dict(model.attentions())["encoder.0.self"])

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return fractions of explained variance (R2).

        Returns:
            place: of the position of a token, predicted from the state of the token.
            distance: of the signed distance between two tokens, predicted from their states.
            distance_in_scores: of the first layer's attention scores, explained by the signed
                distance; mean over heads.
            distance_in_best_head: the same fraction for the head with the largest fraction on
                validation sentences.
        """
        fitted, asked = (self.states(model, data, odd) for odd in (1, 0))
        chosen, judged = (self.explained(model, data, split) for split in ("validation", "test"))
        return {
            "place": linear_r2(places(fitted), places(asked)),
            "distance": linear_r2(pairs(fitted), pairs(asked)),
            "distance_in_scores": float(judged.mean()),
            "distance_in_best_head": float(judged[chosen.argmax()]),
        }

    def states(self, model: Transformer, data: TextData, odd: int) -> list[Float[Tensor, "B _ D"]]:
        """Return the encoder's output, without the end token, for random sentences of each odd
        length in `LENGTHS`, or of each even length if `odd` is 0.
        """
        generator = torch.Generator().manual_seed(stream(odd, "Positions"))
        outputs = []
        for length in (n for n in LENGTHS if n % 2 == odd):
            drawn = (self.sentences, length)
            src = torch.randint(EOS + 2, data.tokenizers.src.size, drawn, generator=generator)
            src = torch.cat([src, torch.full((len(src), 1), EOS)], 1)
            with torch.no_grad():
                outputs.append(self.encoded(model, src)[:, :-1])
        return outputs

    def encoded(self, model: Transformer, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the encoder's output for sources; without `given`, every token has position 0."""
        stand = torch.arange(src.size(1))[None] * int(self.given)
        encoded: Tensor = model.encoder(model.embedding.embed_src(src), src != PAD, positions=stand)
        return encoded

    def explained(self, model: Transformer, data: TextData, split: str) -> Float[Tensor, " H"]:
        """Return for each head the fraction of the variance of its first-layer scores that the
        signed distance explains.
        """
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
        return torch.stack([share_of_groups(head[near], apart[near]) for head in scores - mean])


def places(states: list[Float[Tensor, "B _ D"]]) -> tuple[Tensor, Tensor]:
    """Return the states of all tokens as rows, and the position of each token."""
    x = torch.cat([batch.flatten(0, 1) for batch in states])
    return x, torch.cat([torch.arange(batch.size(1)).repeat(len(batch)) for batch in states]).to(
        x.dtype
    )


def pairs(states: list[Float[Tensor, "B _ D"]]) -> tuple[Tensor, Tensor]:
    """Return the states of random pairs of tokens of the same sentence as rows, and the signed
    distance of each pair.
    """
    generator = torch.Generator().manual_seed(stream(0, "Positions/pairs"))
    vectors, apart = [], []
    for batch in states:
        rows = torch.arange(len(batch))
        for _ in range(batch.size(1)):
            i, j = torch.randint(batch.size(1), (2, len(batch)), generator=generator)
            vectors.append(torch.cat([batch[rows, i], batch[rows, j]], 1))
            apart.append(j - i)
    return torch.cat(vectors), torch.cat(apart).to(vectors[0].dtype)


def linear_r2(fitted: tuple[Tensor, Tensor], asked: tuple[Tensor, Tensor]) -> float:
    """Return the R2 of a ridge regression that is fitted on the rows and targets in `fitted` and
    evaluated on `asked`.
    """
    x, y = fitted
    centre, mean = x.mean(0), y.mean()
    z = x - centre
    penalty = RIDGE * len(z) * z.square().mean() * torch.eye(z.size(1), dtype=z.dtype)
    slopes = torch.linalg.solve(z.T @ z + penalty, z.T @ (y - mean))
    left = asked[1] - mean - (asked[0] - centre) @ slopes
    return float(1 - left.square().mean() / asked[1].var(correction=0))


def share_of_groups(values: Float[Tensor, " N"], group: Int[Tensor, " N"]) -> Float[Tensor, ""]:
    """Return the fraction of the variance of `values` that is between groups.

    `group` has the group number of each value.
    """
    number = group - group.min()
    sums = values.new_zeros(int(number.max()) + 1).index_add_(0, number, values)
    means = sums / number.bincount().clamp(min=1)
    return means[number].var(correction=0) / values.var(correction=0)

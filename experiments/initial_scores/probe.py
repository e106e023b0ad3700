"""Measure scaled attention scores of an untrained model, depending on the head width.

Equation: s = q . k / sqrt(d_head), q and k the rows of X W_Q and X W_K, X the input of the first
    self-attention of the encoder. The setting `maps` chooses the distribution of W_Q and W_K, which
    have `rows` outputs. With `linear` their entries are uniform in +-d_model^-0.5, as in
    torch.nn.Linear. With `xavier` they are uniform in +-sqrt(6 / (d_model + rows)), as in this
    project. With `fused_xavier` they are uniform in +-sqrt(6 / (d_model + 3 rows)), as in
    torch.nn.MultiheadAttention. With `unit` there are no projections: the entries of q and k are
    independent standard normal numbers, as the formula assumes.
Source: arXiv:1706.03762, section 3.2.1, footnote 4.
What differs: the sentences are random; biases are 0.
What to expect: with `unit`, the scores have standard deviation 1 for any head width. With
    projections, the standard deviation depends on X. It depends on the head width only if the
    number of outputs of the projections does.
"""

import copy
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import OneOf
from ablate.data import PAD
from ablate.errors import UserError
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Draws, first_part

MAPS = ("unit", "linear", "xavier", "fused_xavier")
LENGTH, SENTENCES, HEADS = 12, 8, 4


class InitialScores(Draws):
    """A probe that draws query and key projections and computes the attention scores of all pairs
    of tokens.

    Args:
        maps: distribution of query and key projections: unit (no projections) | linear | xavier |
            fused_xavier.
        draws: number of pairs of random projections and a batch of random sentences.
        seed: seed of the projections and sentences.

    Raises:
        UserError: `draws` is below 1, or `maps` is unknown.
    """

    single = ("deviation", "error", "log2_deviation", "log2_four_heads", "own", "unscaled")

    maps: Annotated[str, OneOf(MAPS)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return statistics of the standard deviation of scaled attention scores
        (q . k / sqrt(d_head)).

        There is one standard deviation for each of the `draws` pairs of random projections and
        random sentences. Every value is a mean over these pairs, except `error` and `unscaled`.

        Returns:
            deviation: standard deviation with as many heads as fit into d_model, the usual number.
            log2_deviation: binary logarithm of this standard deviation.
            error: largest absolute difference between a standard deviation and 1.
            log2_four_heads: binary logarithm of the standard deviation with four heads, whatever
                d_model is.
            own: mean score of a query vector with itself, divided by the standard deviation.
            unscaled: smallest absolute difference between a standard deviation and 1 if scores are
                not divided by sqrt(d_head).

        Raises:
            UserError: heads of this width do not fill d_model.
        """
        fixed = copy.deepcopy(model).double().eval()
        first = first_part(fixed, SelfAttention)
        width = first.d_head
        if first.d_model % width:
            raise UserError(
                f"model.d_head is {width}, but probe=initial_scores fills model.d_model "
                f"({first.d_model}) with heads: choose a divisor of model.d_model"
            )
        drawn = [self.draw(fixed, width, number) for number in range(self.draws)]
        deviations, four_heads, self_scores = torch.tensor(drawn, dtype=torch.float64).T
        return {
            "deviation": float(deviations.mean()),
            "error": float((deviations - 1).abs().max()),
            "log2_deviation": float(deviations.log2().mean()),
            "log2_four_heads": float(four_heads.log2().mean()),
            "own": float((self_scores / deviations).mean()),
            "unscaled": float((deviations * width**0.5 - 1).abs().min()),
        }

    @torch.no_grad()
    def draw(self, model: Transformer, width: int, number: int) -> list[float]:
        """Return a list of three statistics of scaled attention scores, for one set of random
        projections and random sentences.

        The first is the standard deviation if the projections to queries and keys have d_model
        outputs. The second is the standard deviation if they have the outputs of four heads. The
        third is the mean score of a query vector with itself.

        Args:
            model: the model, which gives the input of the projections.
            width: width of a head.
            number: number of the set, which determines the random generator.
        """
        # with the same random numbers, distributions that differ by a factor would be measured
        # only once
        name = f"InitialScores/{self.maps}/{number}"
        generator = self.generator(name)
        src = random_sentences(model, [LENGTH] * SENTENCES, generator)
        x = first_input(model, src)
        q, k = (self.heads(x, x.size(-1), width, generator) for _ in range(2))
        self_score = (q * q).sum(-1).mean() * width**-0.5
        four_heads = [self.heads(x, HEADS * width, width, generator) for _ in range(2)]
        return [float(deviation(q, k)), float(deviation(*four_heads)), float(self_score)]

    def heads(
        self, x: Float[Tensor, "B L D"], rows: int, width: int, generator: torch.Generator
    ) -> Float[Tensor, "B H L E"]:
        """Return random queries or keys, split into heads of `width` numbers: x projected by a new
        random matrix with `rows` outputs.

        If `maps` is "unit", return independent standard normal numbers instead.
        """
        if self.maps == "unit":
            shape = (len(x), rows // width, x.size(1), width)
            return torch.randn(shape, generator=generator, dtype=x.dtype)
        d_model = x.size(-1)
        bounds = {
            "linear": d_model**-0.5,
            "xavier": (6 / (d_model + rows)) ** 0.5,
            "fused_xavier": (6 / (d_model + 3 * rows)) ** 0.5,
        }
        uniform = torch.rand(d_model, rows, generator=generator, dtype=x.dtype)
        mapped = x @ ((2 * uniform - 1) * bounds[self.maps])
        return mapped.unflatten(-1, (-1, width)).transpose(1, 2)


def deviation(q: Float[Tensor, "B H L E"], k: Float[Tensor, "B H L E"]) -> Float[Tensor, ""]:
    """Return the standard deviation of q . k / sqrt(d_head), the scaled attention scores, over all
    sentences, heads and pairs of tokens.
    """
    return (q @ k.mT * q.size(-1) ** -0.5).std(correction=0)


def first_input(model: Transformer, src: Tensor) -> Float[Tensor, "B L D"]:
    """Return the input of the first self-attention of the encoder, for source token ids "B L"."""
    inputs_seen: list[Tensor] = []
    first = first_part(model.encoder, SelfAttention)
    with first.register_forward_pre_hook(lambda module, inputs: inputs_seen.append(inputs[0])):
        model.encoder(model.embedding.embed_src(src), src != PAD)
    return inputs_seen[0]

"""How large embeddings and positions are before training, and what the output says then.

Equation: rms(E[token] s) over rms(p), s = sqrt(d_model) where embeddings are scaled, as a power of
    two; and for a sentence and random next tokens the nll of a model over ln V.
Source: arXiv:1706.03762, sections 3.4 (the factor) and 3.5 (the sum).
What differs: the model is as `initial` left it: nothing is added to its parameters.
What to expect: a sinusoid's rms is 2^-0.5, so all depends on the initial values: with deviation
    d_model^-0.5 the factor makes embeddings half a power of two larger than positions, with
    deviation 1 several powers. An output that is the embedding again points at the token read.
"""

import copy
import math
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Count, Range
from ablate.data.vocabulary import BOS
from ablate.errors import UserError
from ablate.model.base import Seq2Seq
from ablate.model.embedding.table import Table
from ablate.model.transformer import Transformer
from ablate.probe.base import Probe
from ablate.probe.sentences import random_sentences
from ablate.seeding import stream


@dataclass(kw_only=True)
class InitialScale(Probe):
    """Looks at the initial values, and at what they make of random sentences.

    Args:
        sentences: random sentences.
        length: tokens of each, on either side.
        seed: of the sentences.

    Raises:
        UserError: `sentences` is below 1, or `length` below 2.
    """

    measures = (
        *("beyond_one", "imbalance", "shortfall", "unscaled_imbalance"),
        *("loss_gap", "sharpened", "echo", "mirrored"),
    )

    sentences: Count
    length: Annotated[int, Range(2)]
    seed: int

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return sizes of initial values, and how far the output is from knowing nothing.

        beyond_one: share of embedding entries above 1 in size; imbalance: how many powers of two
        lie between the rms of embeddings times sqrt(d_model) and of positions, either way;
        shortfall: the same where embeddings are the smaller ones, else 0; unscaled_imbalance: as
        imbalance without the factor; loss_gap: distance of the first nll from ln V, over ln V, and
        sharpened: how far it moves with ten times the logits; echo: share of tokens whose most
        probable successor is the token itself, less chance, and mirrored: the same where the
        states are the tokens' own rows of the output matrix.
        """
        fixed = copy.deepcopy(model).eval()
        return self.sizes(fixed) | self.outputs(fixed)

    @torch.no_grad()
    def sizes(self, model: Transformer) -> dict[str, float]:
        """Return the measures of the initial values alone."""
        weight = next(m for m in model.modules() if isinstance(m, Table)).weight
        places = torch.arange(self.length)[None]
        empty = weight.new_zeros(1, self.length, weight.size(1))
        positions = model.encoder.position.embed(empty, places)
        if not rms(positions):
            raise UserError(
                "probe=initial_scale compares embeddings with what positions add to them: choose "
                "a level of model/position that adds something, such as sinusoidal"
            )
        plain = math.log2(rms(weight) / rms(positions))
        scaled = plain + math.log2(weight.size(1)) / 2
        return {
            "beyond_one": float((weight.abs() > 1).double().mean()),
            "imbalance": abs(scaled),
            "shortfall": max(0.0, -scaled),
            "unscaled_imbalance": abs(plain),
        }

    @torch.no_grad()
    def outputs(self, model: Transformer) -> dict[str, float]:
        """Return the measures of the outputs; tokens are independent, so none tells the next."""
        generator = torch.Generator().manual_seed(stream(self.seed, type(self).__name__))
        lengths = [self.length] * self.sentences
        src, tgt = (random_sentences(model, lengths, generator) for _ in range(2))
        read = F.pad(tgt[:, :-1], (1, 0), value=BOS)
        states = model(Seq2Seq(src, read)).flatten(0, 1)
        logits = model.head(states).double()
        mirror = model.head(model.embedding.output_weight()[read.flatten()])
        gap = loss_gap(logits, tgt.flatten())
        return {
            "loss_gap": gap,
            "sharpened": abs(loss_gap(10 * logits, tgt.flatten()) - gap),
            "echo": echo(logits, read.flatten()),
            "mirrored": echo(mirror, read.flatten()),
        }


def loss_gap(logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]) -> float:
    """Return how far the nll is from that of knowing nothing, over the latter."""
    return abs(float(F.cross_entropy(logits, targets)) / math.log(logits.size(1)) - 1)


def echo(logits: Float[Tensor, "N V"], read: Int[Tensor, " N"]) -> float:
    """Return the share of tokens that the output repeats, less chance."""
    return float((logits.argmax(1) == read).double().mean()) - 1 / logits.size(1)


def rms(x: Tensor) -> float:
    """Return the root of the mean square."""
    return float(x.double().square().mean().sqrt())

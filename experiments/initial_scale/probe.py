"""Measure the scale of embeddings and positions before training, and the initial output.

Equation: log2 of rms(E[token] s) / rms(p), with s = sqrt(d_model) if embeddings are scaled; and the
    nll of random next tokens divided by ln V.
Source: arXiv:1706.03762, sections 3.4 (the factor) and 3.5 (the sum).
What differs: the model keeps its initial parameters, without added noise.
What to expect: a sinusoid's rms is 2^-0.5, so the ratio depends on the initial values: with
    standard deviation d_model^-0.5 the factor makes embeddings 2^0.5 times larger than positions;
    with standard deviation 1, much larger. A tied output matrix predicts the token just read.
"""

import copy
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Count, Range
from ablate.data import BOS
from ablate.errors import UserError
from ablate.model import Seq2Seq
from ablate.model.embedding import Table
from ablate.model.transformer import Transformer
from ablate.probe import Probe, random_sentences
from ablate.process import stream


@dataclass(kw_only=True)
class InitialScale(Probe):
    """A probe of the initial parameters, and of the initial outputs for random sentences.

    Args:
        sentences: number of random sentences.
        length: number of tokens in each source and each target sentence.
        seed: seed of the sentences.

    Raises:
        UserError: `sentences` is below 1, or `length` is below 2.
    """

    measures = (
        *("beyond_one", "imbalance", "unscaled_imbalance", "shortfall", "unscaled_shortfall"),
        *("loss_gap", "sharpened", "echo", "mirrored"),
    )

    sentences: Count
    length: Annotated[int, Range(2)]
    seed: int

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the scale of the initial values, and the deviation of the output from a uniform
        prediction.

        Returns:
            beyond_one: fraction of embedding entries whose absolute value is above 1.
            imbalance: absolute value of log2(rms of scaled embeddings / rms of position encodings).
            shortfall: the same value if embeddings are smaller than position encodings, else 0.
            unscaled_imbalance, unscaled_shortfall: the values of `imbalance` and `shortfall` for
                embeddings without the factor sqrt(d_model).
            loss_gap: relative difference between the nll before training and ln V, the nll of a
                uniform prediction.
            sharpened: change of loss_gap if the logits are multiplied by ten.
            echo: fraction of positions at which the most probable next token is the token just
                read, minus the fraction by chance.
            mirrored: the value of `echo` if the decoder state at each position is replaced by the
                row of the output matrix that belongs to the token just read.
        """
        fixed = copy.deepcopy(model).eval()
        return self.sizes(fixed) | self.outputs(fixed)

    @torch.no_grad()
    def sizes(self, model: Transformer) -> dict[str, float]:
        """Return the measurements in `__call__` that depend only on initial values: beyond_one,
        imbalance and shortfall, with and without the factor.

        Raises:
            UserError: the position encodings add nothing to the embeddings.
        """
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
            "unscaled_imbalance": abs(plain),
            "shortfall": float(np.maximum(0.0, -scaled)),
            "unscaled_shortfall": float(np.maximum(0.0, -plain)),
        }

    @torch.no_grad()
    def outputs(self, model: Transformer) -> dict[str, float]:
        """Return the measurements in `__call__` that depend on the model's outputs: loss_gap,
        sharpened, echo and mirrored.

        The tokens of the sentences are drawn independently, so no token predicts the next token.
        """
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
    """Return the relative difference between the nll and ln V, the nll of a uniform prediction, as
    an absolute value.
    """
    return abs(float(F.cross_entropy(logits, targets)) / math.log(logits.size(1)) - 1)


def echo(logits: Float[Tensor, "N V"], read: Int[Tensor, " N"]) -> float:
    """Return the fraction of positions at which the most probable next token is the token just
    read, minus the fraction by chance, 1 / V.
    """
    return float((logits.argmax(1) == read).double().mean()) - 1 / logits.size(1)


def rms(x: Tensor) -> float:
    """Return the root mean square of all entries of a tensor."""
    return float(x.double().square().mean().sqrt())

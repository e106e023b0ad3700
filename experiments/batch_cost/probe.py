"""Measure benefit and cost of padding: sentences one by one, or batches padded to equal length.

Equation: padding is the fraction of positions without a real token; difference is the largest
    difference of a real token's state between a sentence in a batch and the sentence alone.
Source: arXiv:1706.03762, section 5.1 (batches of similar lengths).
What differs: forward passes over source and target of the run's corpus, without gradient; each word
    is a token. `random` and `bucketed` are padded to the longest of the batch, `to_longest` is
    `random` padded to the longest sentence of all.
What to expect: the states do not depend on the batch, because padding keys are masked. Batches need
    fewer but larger passes, and padding is wasted work. Seconds depend on the machine.
"""

import math
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import Count, OneOf
from ablate.data import EOS, PAD, Corpus
from ablate.data.batching import Sizes, training_batches
from ablate.model import Model, Seq2Seq
from experiments.masks_2.training_batches import ids
from experiments.shared.cost.counting import counted
from experiments.shared.cost.seconds import median_seconds
from experiments.shared.probe.draws import Draws, Measured, moved

COMPARED = 4  # number of sentences compared per batch
BATCHINGS = ("one_by_one", "random", "bucketed", "to_longest")


class BatchCost(Draws):
    """A probe that times forward passes over lines of a corpus.

    Args:
        corpus: corpus whose first training lines are used.
        batching: sentences of a batch: one_by_one | random | bucketed (similar lengths) |
            to_longest (random, with most padding).
        lines: number of training lines that are read.
        tokens: maximum number of tokens in a batch, padding counted, before to_longest adds its
            padding.
        repeats: number of timed passes over all lines, whose median time is reported.
        draws: number of models with random weights that compare sentences in batches with single
            sentences.
        seed: seed of batches and weights.

    Raises:
        UserError: an unknown batching, or a number below 1.
    """

    needs = Model
    largest = ("difference",)
    smallest = ("control",)
    single = (
        *("batches", "padding", "products_each", "seconds", "tokens_per_second"),
        "log2_speed",
    )

    corpus: Corpus
    batching: Annotated[str, OneOf(BATCHINGS)]
    lines: Count
    tokens: Count
    repeats: Count

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the cost of forward passes over the batches, and how much the outputs depend on
        batching.

        Returns:
            batches: number of batches.
            padding: fraction of positions that are padding.
            products_each: operations in matrix products, per target token without padding.
            seconds: time of a pass over all lines.
            tokens_per_second, log2_speed: target tokens without padding per second, and its log2.
            difference, control: see `compared`.
        """
        pairs = self.pairs(model)

        def forward() -> None:
            for pair in pairs:
                model(pair)

        real = sum(int((pair.tgt_in != PAD).sum()) for pair in pairs)
        positions = sum(ids.numel() for pair in pairs for ids in pair)
        filled = sum(int((ids != PAD).sum()) for pair in pairs for ids in pair)
        model.eval()
        with torch.no_grad():
            products = sum(counted(partial(model, pair))["products"] for pair in pairs)
        seconds = median_seconds(forward, self.repeats, warm_up=1)
        return {
            "batches": float(len(pairs)),
            "padding": 1 - filled / positions,
            "products_each": products / real,
            "seconds": seconds,
            "tokens_per_second": real / seconds,
            "log2_speed": math.log2(real / seconds),
            **self.reduced([self.compared(model, pairs)]),
        }

    def pairs(self, model: Any) -> list[Seq2Seq]:
        """Return the batches to measure: pairs of source and target ids of the corpus's lines."""
        train = self.corpus.read("train")
        sides = train.src, train.tgt
        src, tgt = ([line.split() for line in side[: self.lines]] for side in sides)
        size = len(model.embedding.output_weight())
        whole = ids(src, size), ids(tgt, size)
        lengths = [(side != PAD).sum(1) for side in whole]
        return [
            Seq2Seq(
                *(self.cut(side, length, rows) for side, length in zip(whole, lengths, strict=True))
            )
            for rows in self.rows(*lengths)
        ]

    def rows(self, src: Int[np.ndarray, " N"], tgt: Int[np.ndarray, " N"]) -> list[Any]:
        """Return the line numbers of each batch."""
        every = np.arange(len(src))
        if self.batching == "one_by_one":
            return list(every[:, None])
        sizes, bucket = Sizes(every, src, tgt), self.batching == "bucketed"
        formed = training_batches(sizes, self.tokens, bucket, self.seed, epoch=0)
        return [formed.batch(number) for number in range(formed.total)]

    def cut(
        self, side: Int[np.ndarray, "N L"], lengths: Int[np.ndarray, " N"], rows: Any
    ) -> Int[Tensor, "B W"]:
        """Return the lines of one batch as padded token ids.

        With batching=to_longest, the lines are padded to the longest of all lines that are read,
        otherwise to the longest line of the batch.

        Args:
            side: padded token ids of all lines in one language.
            lengths: number of tokens of each line.
            rows: line numbers of the batch.
        """
        longest = side.shape[1] if self.batching == "to_longest" else lengths[rows].max()
        return torch.from_numpy(side[rows, :longest])

    def compared(self, model: Any, pairs: list[Seq2Seq]) -> Measured:
        """Yield how much the states of random models for sentences in padded batches differ from
        their states for the same sentences one at a time.

        Yields:
            difference: the largest difference of a model.
            control: the largest difference of a model if a real word takes the place of padding.
        """
        for number, (other, _) in enumerate(self.models(model)):
            pair = pairs[number % len(pairs)]
            yield "difference", largest(other, pair, pair)
            yield "control", largest(other, pair, without_padding(pair))


def largest(model: Any, alone: Seq2Seq, batch: Seq2Seq) -> Tensor:
    """Return the largest difference between the model's states for a batch and its states for the
    same sentences one at a time; NaN if a state is NaN.

    Only the first COMPARED sentences, and no states at padding, are compared.

    Args:
        model: the model.
        alone: the batch from which single sentences are taken, without their padding.
        batch: the batch that is computed as a whole: `alone`, or `alone` with real words in place
            of padding.
    """
    together, differences = model(batch), []
    for row in range(min(COMPARED, len(together))):
        src, tgt = (side[row][side[row] != PAD][None] for side in alone)
        differences.append(moved(together[row, : tgt.size(1)], model(Seq2Seq(src, tgt))[0]))
    return torch.stack(differences).max()


def without_padding(pair: Seq2Seq) -> Seq2Seq:
    """Return a batch in which padding is replaced by a real word."""
    return Seq2Seq(*(side.masked_fill(side == PAD, EOS + 1) for side in pair))

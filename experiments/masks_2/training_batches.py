"""Check whether the decoder reads padding in training, and whether the loss depends on it.

Equation: the loss is a mean over the positions whose target is not PAD; its gradient is computed
    with respect to the last states and the embedded inputs of the decoder.
Source: arXiv:1706.03762, section 5.1 (batches of sentences of similar lengths); this project's
    training loss, and torch.nn.functional.cross_entropy with ignore_index.
What differs: sentences of the run's corpus in its batches and by its task, with words as tokens;
    random weights in float64, no dropout.
What to expect: every batch whose targets differ in length contains PAD in its inputs; no gradient
    at padding if its targets are ignored.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch.nn import functional as F

from ablate.data import EOS, PAD, Corpus
from ablate.data.batching import Batch, Sizes, training_batches
from ablate.errors import UserError
from ablate.loss import CrossEntropy, LabelSmoothing
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Draws, Measured

EPSILON = 0.1  # of label smoothing
SENTENCES = 6  # sentences per batch for gradients
Lines = list[list[str]]


class PaddedBatches(Draws):
    """A probe that makes batches of a corpus and computes gradients at the padding of the batches.

    Args:
        corpus: corpus whose training split is divided into batches.
        task: task that creates the batches from the corpus.
        tokens: maximum number of tokens in a batch, padding counted.
        bucket: whether a batch has sentences of similar lengths; false: random sentences.
        draws: number of models with random weights for which gradients are computed.
        seed: seed of batches and weights.

    Raises:
        UserError: `draws` is below 1, or the sentences of the corpus are equally long.
    """

    largest = ("gradient_ignored", "gradient_torch")
    smallest = ("gradient_counted",)
    single = ("batches", "unequal", "with_pad", "padded_alone")

    corpus: Corpus
    task: Any
    tokens: int
    bucket: bool

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return counts of batches, and the largest or smallest gradients over all random weights.

        PAD is the token of padding.

        Returns:
            batches: number of batches.
            unequal: fraction of batches whose targets differ in length.
            with_pad: fraction of these batches in which the decoder reads PAD.
            padded_alone: fraction of single-sentence batches in which the decoder reads PAD.
            gradient_ignored: largest gradient of this project's losses (cross-entropy, label
                smoothing) with respect to the decoder's inputs or last states at positions whose
                target is PAD.
            gradient_torch: largest such gradient of torch's cross-entropy with ignore_index.
            gradient_counted: largest such gradient of cross-entropy in which targets that are PAD
                count. The smallest value over the random weights is returned.
        """
        src, tgt = ([line.split() for line in side] for side in self.corpus.read("train"))
        lines = (np.arange(n, n + SENTENCES) % len(src) for n in range(self.draws))
        batches = [self.batch(model, src, tgt, numbers) for numbers in lines]
        if any((batch.targets != PAD).all() for batch in batches):
            raise UserError(
                f"the targets of some batches of {SENTENCES} sentences are equally long, so there "
                "is no padding at which probe=training_batches could measure gradients: choose "
                "data with sentences of different lengths, such as data=toy, or more of it"
            )
        drawn = zip(self.models(model), batches, strict=True)
        measurements = self.reduced(gradients(other, batch) for (other, _), batch in drawn)
        return self.counts(model, src, tgt) | measurements

    def counts(self, model: Transformer, src: Lines, tgt: Lines) -> dict[str, float]:
        """Return batches, unequal, with_pad and padded_alone, which `__call__` describes."""
        rows = np.arange(len(src))
        lengths = (np.array([len(line) + 1 for line in side]) for side in (src, tgt))
        sizes = Sizes(rows, *lengths)
        formed = training_batches(sizes, self.tokens, self.bucket, self.seed, epoch=0)
        numbers = range(formed.total)
        batches = [self.batch(model, src, tgt, formed.batch(number)) for number in numbers]
        unequal = [b for b in batches if len({int(n) for n in (b.targets != PAD).sum(1)}) > 1]
        single = [self.batch(model, src, tgt, rows[n : n + 1]) for n in range(len(batches))]
        read = [reads_pad(batch) for batch in unequal]
        return {
            "batches": float(len(batches)),
            "unequal": len(unequal) / len(batches),
            "with_pad": sum(read) / max(1, len(read)),
            "padded_alone": sum(map(reads_pad, single)) / len(single),
        }

    def batch(
        self, model: Transformer, src: Lines, tgt: Lines, lines: Int[np.ndarray, " B"]
    ) -> Batch:
        """Return the lines with the given numbers as a batch of the task."""
        size = len(model.embedding.output_weight())
        sides = (ids([side[n] for n in lines], size) for side in (src, tgt))
        batch: Batch = self.task.batch(*sides, lines, np.random.default_rng)
        return batch


def ids(lines: Lines, size: int) -> Int[np.ndarray, "B L"]:
    """Return one row of ids for each line: the ids of its words, then EOS, then PAD up to the
    length of the longest row.

    The id of a word is computed from its letters, without a learned vocabulary. Different words may
    have the same id. All ids are below `size`.
    """
    rows = np.full((len(lines), max(map(len, lines)) + 1), PAD)
    for row, words in zip(rows, lines, strict=True):
        numbers = [EOS + 1 + sum(map(ord, word)) % (size - EOS - 1) for word in words]
        row[: len(words) + 1] = [*numbers, EOS]
    return rows


def reads_pad(batch: Batch) -> bool:
    """Return whether the decoder input of a batch contains PAD, the token of padding."""
    return bool((batch.inputs.tgt_in == PAD).any())


def gradients(model: Transformer, batch: Batch) -> Measured:
    """Yield the absolute gradients of several losses at the positions of padding, for one set of
    random weights.

    Yields:
        gradient_ignored, gradient_torch, gradient_counted: see `PaddedBatches.__call__`.
    """
    inputs, real = batch.inputs, batch.targets != PAD
    memory = model.encode(inputs.src)
    x = model.embedding.embed_tgt(inputs.tgt_in).requires_grad_()
    smoothed = LabelSmoothing(epsilon=EPSILON, target="vocab")
    with torch.enable_grad():
        states = model.decoder(x, inputs.tgt_in != PAD, memory)
        logits, targets = model.head(states), batch.targets
        flat = logits.flatten(0, 1), targets.flatten()
        by_torch = F.cross_entropy(*flat, ignore_index=PAD, label_smoothing=EPSILON)
        losses = (
            ("gradient_ignored", CrossEntropy()(logits[real], targets[real])[0]),
            ("gradient_ignored", smoothed(logits[real], targets[real])[0]),
            ("gradient_torch", by_torch),
            ("gradient_counted", CrossEntropy()(*flat)[0]),
        )
    for name, loss in losses:
        at_padding = torch.autograd.grad(loss, (states, x), retain_graph=True)
        yield name, torch.stack([gradient[~real].abs().max() for gradient in at_padding]).max()

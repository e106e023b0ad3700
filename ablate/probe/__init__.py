"""Probes (measurements of untrained models) that any experiment can use. Probes written for a
single experiment are in a catalogue.
"""

import os
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.data import EOS, PAD
from ablate.errors import UserError
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.base import Model
from ablate.model.embedding import Table
from ablate.model.transformer import Transformer


class Probe(ABC):
    """A measurement of an untrained model, which must be of the type `needs`.

    `measures` lists the names of all results, so that a claim about any other metric is rejected
    before a sweep starts. Subclasses are dataclasses; the annotations of their fields declare the
    limits of the settings.
    """

    needs: ClassVar[type[Model]] = Transformer
    measures: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise UserError if a setting is outside the limits that its annotation declares."""
        for name, annotation in get_type_hints(type(self), include_extras=True).items():
            for limit in getattr(annotation, "__metadata__", ()):
                if not limit.allows(value := getattr(self, name)):
                    raise UserError(f"probe.{name}={value}: it must {limit}")

    @abstractmethod
    def __call__(self, model: Any) -> dict[str, float]:
        """Return the measurements by name; they appear in the run's metrics with the prefix
        `probe/`.
        """


def random_sentences(
    model: Model, lengths: list[int], generator: torch.Generator
) -> Int[Tensor, "B L"]:
    """Return one random sentence per length, padded to the longest; usable as source or target."""
    vocabulary = min(m.weight.size(0) for m in model.modules() if isinstance(m, Table))
    ids = torch.randint(EOS + 1, vocabulary, (len(lengths), max(lengths)), generator=generator)
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PAD)


STAT = Path("/proc/stat")
WORKING = (1, 2, 3, 6, 7, 8)  # fields: user, nice, system, irq, softirq, steal


class OtherLoad:
    """A stopwatch for the load by other processes, which starts when the object is created."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.before = seconds_of_others()

    def cores(self) -> float | None:
        """Return the mean number of cores that other processes used since the object was created;
        None if the system does not report it.
        """
        after = seconds_of_others()
        if after is None or self.before is None:
            return None
        return max(0.0, after - self.before) / (time.perf_counter() - self.start)


def seconds_of_others() -> float | None:
    """Return the processor seconds of all other processes since boot; None if the system does not
    report them.
    """
    if not STAT.exists():
        return None
    fields = STAT.read_text(encoding="utf-8").splitlines()[0].split()
    ticks = sum(int(fields[number]) for number in WORKING)
    this_process = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") - this_process.user - this_process.system


class ParameterCount(Probe):
    """Count the parameters of one attention block, of all blocks, and of the whole model.

    Count parameters, and compare one attention block with 4 d_model^2 + 4 d_model.

    Equation: one block has 3 d_model (n_heads d_head) + 3 n_heads d_head weights and biases for
        queries, keys and values, and (n_heads d_head) d_model + d_model for the output. With
        d_head = d_model / n_heads that is 4 d_model^2 + 4 d_model, without n_heads.
    Source: arXiv:1706.03762, section 3.2.2.
    """

    measures = ("attention_block", "attention_all", "model", "block_excess")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return numbers of parameters.

        Returns:
            attention_block: parameters of the largest attention block.
            attention_all: parameters of all attention blocks.
            model: parameters of the whole model.
            block_excess: parameters of one attention block minus 4 d_model^2 + 4 d_model, for the
                block with the largest absolute difference. 0 means that the number of heads does
                not matter.
        """
        blocks = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
        sizes = {sum(p.numel() for p in block.parameters()) for block in blocks}
        d_model = blocks[0].d_model
        return {
            "attention_block": float(max(sizes)),
            "attention_all": float(sum(p.numel() for b in blocks for p in b.parameters())),
            "model": float(sum(p.numel() for p in model.parameters())),
            "block_excess": float(
                max(sizes, key=lambda n: abs(n - _formula(d_model))) - _formula(d_model)
            ),
        }


def _formula(d_model: int) -> int:
    return 4 * d_model**2 + 4 * d_model

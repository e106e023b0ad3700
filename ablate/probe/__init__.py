"""Probes (measurements of untrained models) that any experiment can use. Probes written for a
single experiment are in a catalogue.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import Count, OneOf
from ablate.data import EOS, PAD
from ablate.errors import UserError
from ablate.loss import CrossEntropy
from ablate.model import Model, Seq2Seq
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.embedding import Table
from ablate.model.stack import LayerContext
from ablate.model.transformer import Transformer


class Probe(ABC):
    """A measurement of an untrained model, which must be of the type `needs`.

    `measures` lists the names of all results, so that a claim about any other metric is rejected
    before a sweep starts. Subclasses are dataclasses; the annotations of their fields declare the
    limits of the settings.
    """

    needs: ClassVar[type[Model]] = Transformer
    measures: ClassVar[tuple[str, ...]] = ()

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


WARM_UP = 2
# by name: whether the model is in training mode, and the function to time
Works = dict[str, tuple[bool, Callable[[], None]]]
PRECISIONS = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


@dataclass(kw_only=True)
class StepTime(Probe):
    """Measure the time of a training step, and its memory on a GPU.

    Times training steps on random sentences without padding.

    Equation: the median over `repeats` of the wall time of one batch of batch_size sentences of
        src_length and tgt_length tokens: forward, loss and backward, without the optimiser; the
        same without gradient; and forward and backward of one self-attention of a Transformer's
        encoder.
    Source: the costs per layer of arXiv:1706.03762, table 1 and section 3.2.2.
    What differs: measured on this machine with the threads of the run, with dropout in training;
        the three measurements alternate, so that other load affects all of them.
    What to expect: other processes add noise: keep the machine idle (n_jobs=1), and compare arms
        within one sweep. `others` is the number of cores that other processes used (on Linux); a
        report warns if it is not small.

    Args:
        batch_size: number of sentence pairs in a batch.
        src_length: number of tokens in each source.
        tgt_length: number of tokens in each target.
        repeats: number of measurements, whose median is reported, after two warm-up runs.
        accelerator: device that is measured: cpu | gpu | cuda | auto.
        precision: number format of the computation: 32-true | bf16-mixed | 16-mixed.

    Raises:
        UserError: a number below 1, an unknown accelerator or precision, or a missing GPU; when
            called, the model does not read a source and a target.
    """

    needs = Model
    measures = ("step", "attention", "forward", "parameters", "others", "peak_bytes")

    batch_size: Count
    src_length: Count
    tgt_length: Count
    repeats: Count
    accelerator: Annotated[str, OneOf(("cpu", "gpu", "cuda", "auto"))]
    precision: Annotated[str, OneOf(tuple(PRECISIONS))]

    def __post_init__(self) -> None:
        self.device = device_of(self.accelerator)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the time of a training step and of its parts, and the memory that it needs.

        Returns:
            step: seconds of a training step, without the optimiser.
            forward: seconds of a forward pass without gradient.
            attention: seconds of the forward and backward pass of one self-attention. Only a
                Transformer has this value.
            parameters: number of parameters of the model.
            others: number of cores that other processes used. The value is missing if the system
                does not report it.
            peak_bytes: peak memory in bytes. Only a GPU has this value.
        """
        if Seq2Seq not in model.takes:
            raise UserError(
                "probe=step_time measures a model that reads a source and a target, but model is "
                f"{type(model).__name__}: choose another model, or probe=none"
            )
        model = model.to(self.device)
        generator = torch.Generator().manual_seed(0)
        src, tgt = (
            random_sentences(model, [length] * self.batch_size, generator).to(self.device)
            for length in (self.src_length, self.tgt_length)
        )

        def step() -> None:
            model.zero_grad()
            with self.autocast():
                objective = loss(model, src, tgt)
            torch.autograd.backward(objective)

        def forward() -> None:
            with torch.no_grad(), self.autocast():
                loss(model, src, tgt)

        works: Works = {"step": (True, step)}
        if isinstance(model, Transformer):
            works["attention"] = True, self.attend(model, src)
        works["forward"] = False, forward
        other_load = OtherLoad()
        measurements = self.seconds(model, works)
        if self.device.type == "cuda":
            measurements["peak_bytes"] = float(torch.cuda.max_memory_allocated())
        cores = other_load.cores()
        if cores is not None:
            measurements["others"] = cores
        return measurements | {"parameters": float(sum(p.numel() for p in model.parameters()))}

    def attend(self, model: Transformer, src: Tensor) -> Callable[[], None]:
        """Return a function that runs the first self-attention of the encoder forward and
        backward.
        """

        def attend() -> None:
            with self.autocast():
                mixed = model.encoder.sublayers[0](x, at)
            torch.autograd.backward(mixed.sum())

        x = model.embedding.embed_src(src).detach()
        positions = torch.arange(src.size(1), device=self.device)[None]
        real = torch.ones_like(src, dtype=torch.bool)
        at = LayerContext(positions, model.encoder.position, real, None)
        return attend

    def autocast(self) -> torch.autocast:
        """Return the autocast context for `precision`."""
        dtype = PRECISIONS[self.precision]
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def seconds(self, model: Model, works: Works) -> dict[str, float]:
        """Return the median time in seconds of each function, by name.

        The functions are called in turn, so that other load affects all of them.
        """
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(WARM_UP + self.repeats):
            for name, (training, work) in works.items():
                model.train(training)
                times[name].append(self.duration(work))
        return {name: median(each[WARM_UP:]) for name, each in times.items()}

    def duration(self, work: Callable[[], None]) -> float:
        """Return the wall time in seconds of one call of `work`."""
        self.wait()
        start = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - start

    def wait(self) -> None:
        """Wait until the device is idle."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def device_of(accelerator: str) -> torch.device:
    """Return the device that the trainer would use.

    Raises:
        UserError: the accelerator is unknown, or there is no GPU.
    """
    there = torch.cuda.is_available()
    if accelerator in ("gpu", "cuda") and not there:
        raise UserError(f"probe.accelerator is {accelerator}, and torch finds no GPU")
    return torch.device("cuda" if there and accelerator != "cpu" else "cpu")


def loss(model: Any, src: Tensor, tgt: Tensor) -> Tensor:
    """Return the mean cross-entropy of the target tokens, each predicted from the source and the
    preceding target tokens.
    """
    states = model(Seq2Seq(src, tgt)).flatten(0, 1)
    return model.head.score(CrossEntropy(), states, tgt.roll(-1, 1).flatten())[0]

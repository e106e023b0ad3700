"""Measure the time of a training step, and its memory on a GPU.

Equation: the median over `repeats` of the wall time of one batch of batch_size sentences of
    src_length and tgt_length tokens: forward, loss and backward, without the optimiser; the same
    without gradient; and forward and backward of one self-attention of a Transformer's encoder.
Source: the costs per layer of arXiv:1706.03762, table 1 and section 3.2.2.
What differs: measured on this machine with the threads of the run, with dropout in training; the
    three measurements alternate, so that other load affects all of them.
What to expect: other processes add noise: keep the machine idle (n_jobs=1), and compare arms within
    one sweep. `others` is the number of cores that other processes used (on Linux); a report warns
    if it is not small.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Any

import torch
from torch import Tensor

from ablate.config.limits import Count, OneOf
from ablate.errors import UserError
from ablate.loss import CrossEntropy
from ablate.model.base import Model, Seq2Seq
from ablate.model.sublayer import LayerContext
from ablate.model.transformer import Transformer
from ablate.probe import OtherLoad, Probe, random_sentences

WARM_UP = 2
# by name: whether the model is in training mode, and the function to time
Works = dict[str, tuple[bool, Callable[[], None]]]
PRECISIONS = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


@dataclass(kw_only=True)
class StepTime(Probe):
    """Time training steps on random sentences without padding.

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
    accelerator: str
    precision: Annotated[str, OneOf(tuple(PRECISIONS))]

    def __post_init__(self) -> None:
        super().__post_init__()
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
    if accelerator not in ("cpu", "gpu", "cuda", "auto"):
        raise UserError(f"probe.accelerator is {accelerator}: allowed is cpu, gpu, cuda or auto")
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

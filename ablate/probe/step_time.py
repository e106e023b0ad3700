"""What a training step costs: seconds, and bytes on a GPU.

Equation: the median over `repeats` of the wall time of one batch of batch_size sentences of
    src_length and tgt_length tokens: forward, loss and backward, without the optimiser; the same
    without gradient; and forward and backward of one self-attention of a Transformer's encoder.
Source: the costs per layer of arXiv:1706.03762, table 1 and section 3.2.2.
What differs: measured on this machine, with the threads of the run, dropout on in training; the
    three in turn, so that whatever else the machine does falls on all of them.
What to expect: noise of other processes: let the machine do nothing else (n_jobs=1), and compare
    arms within one sweep. `others` is the number of cores that were busy with something else, on
    Linux; a report says so when it is not small.
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
from ablate.loss.cross_entropy import CrossEntropy
from ablate.model.base import Model, Seq2Seq
from ablate.model.sublayer import Place
from ablate.model.transformer import Transformer
from ablate.probe.base import Probe
from ablate.probe.others import OtherLoad
from ablate.probe.sentences import random_sentences

WARM_UP = 2
Works = dict[str, tuple[bool, Callable[[], None]]]  # whether in training, and what to do
PRECISIONS = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


@dataclass(kw_only=True)
class StepTime(Probe):
    """Times random sentences without padding.

    Args:
        batch_size: sentences.
        src_length: tokens of a source.
        tgt_length: tokens of a target.
        repeats: measurements that the median is taken of, after two that do not count.
        accelerator: cpu | gpu | cuda | auto, as that of the trainer.
        precision: 32-true | bf16-mixed | 16-mixed, as that of the trainer.

    Raises:
        UserError: a number below 1, another accelerator or precision, or no GPU is there.
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
        """Return step, forward and attention in seconds, parameters, others, a GPU's peak_bytes."""
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
        others = OtherLoad()
        found = self.seconds(model, works)
        if self.device.type == "cuda":
            found["peak_bytes"] = float(torch.cuda.max_memory_allocated())
        cores = others.cores()
        if cores is not None:
            found["others"] = cores
        return found | {"parameters": float(sum(p.numel() for p in model.parameters()))}

    def attend(self, model: Transformer, src: Tensor) -> Callable[[], None]:
        """Return forward and backward of the first attention of a Transformer's encoder."""

        def attend() -> None:
            with self.autocast():
                mixed = model.encoder.sublayers[0](x, at)
            torch.autograd.backward(mixed.sum())

        x = model.embedding.embed_src(src).detach()
        positions = torch.arange(src.size(1), device=self.device)[None]
        real = torch.ones_like(src, dtype=torch.bool)
        at = Place(positions, model.encoder.position, real, None)
        return attend

    def autocast(self) -> torch.autocast:
        """Return the context of the precision."""
        dtype = PRECISIONS[self.precision]
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def seconds(self, model: Model, works: Works) -> dict[str, float]:
        """Return the median time of each of `works`, in turn, the model in training or not."""
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(WARM_UP + self.repeats):
            for name, (training, work) in works.items():
                model.train(training)
                times[name].append(self.duration(work))
        return {name: median(each[WARM_UP:]) for name, each in times.items()}

    def duration(self, work: Callable[[], None]) -> float:
        """Return the wall time of `work`."""
        self.wait()
        start = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - start

    def wait(self) -> None:
        """Wait until the device has done all it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def device_of(accelerator: str) -> torch.device:
    """Return the device that the trainer would use."""
    if accelerator not in ("cpu", "gpu", "cuda", "auto"):
        raise UserError(f"probe.accelerator is {accelerator}: allowed is cpu, gpu, cuda or auto")
    there = torch.cuda.is_available()
    if accelerator in ("gpu", "cuda") and not there:
        raise UserError(f"probe.accelerator is {accelerator}, and torch finds no GPU")
    return torch.device("cuda" if there and accelerator != "cpu" else "cpu")


def loss(model: Any, src: Tensor, tgt: Tensor) -> Tensor:
    """Return the cross-entropy of each target token after the one before it."""
    states = model(Seq2Seq(src, tgt)).flatten(0, 1)
    return model.head.score(CrossEntropy(), states, tgt.roll(-1, 1).flatten())[0]

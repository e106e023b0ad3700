"""Count the kernels of a training step on a GPU, on a machine that needs no GPU.

    python -m lab.bench.kernel_counts [OVERRIDES...]

`ablate` runs on the CPU, but takes the branches that it takes on a GPU. Every operation of torch
counts as a kernel, unless it only changes the shape of a tensor or allocates one. An operation that
returns a number to Python makes the program wait for the GPU; these operations are counted too. The
counts do not depend on the machine. Prints a row for the hand-written loop of
`lab.bench.nanogpt_loop`, and a row for each case in LIMITS; the overrides apply to all cases.
"""

import dataclasses
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from ablate import process
from ablate.data.batching import Batch
from ablate.train.job import Job
from ablate.train.resolve import resolve
from ablate.train.run import run
from lab.bench.command import exit_on_user_error
from lab.bench.nanogpt_loop import PEAK, Gpt, draw, make_optimizer, read_text, step
from lab.bench.nanogpt_side import Sizes
from lab.bench.ours import compose

SIZES = Sizes(layers=6, heads=6, width=48, context=64, batch=4)
LIMITS = {"": 1.05, "model/position=rotary": 1.5, "optimizer=muon": 2.5}  # times the loop
# operations that launch no kernel on a GPU
FREE = {
    *("view", "_unsafe_view", "view_as", "_reshape_alias", "t", "transpose", "permute", "expand"),
    *("slice", "select", "narrow", "diagonal", "unfold", "chunk", "split", "split_with_sizes"),
    *("unbind", "unsqueeze", "squeeze", "detach", "detach_", "alias", "as_strided", "lift_fresh"),
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "set_", "resize_"),
    *("is_same_size", "is_pinned", "size", "stride", "sym_size", "prim", "promote_types"),
    *("_record_function_enter_new", "_record_function_exit", "_has_compatible_shallow_copy_type"),
}
# operations that wait for a GPU
WAITING = {
    *("_local_scalar_dense", "item", "is_nonzero", "nonzero", "masked_select", "equal"),
    *("unique", "_unique2"),
}
LAYER_NORM, CROSS_ENTROPY = F.layer_norm, F.cross_entropy


class Operations(TorchDispatchMode):
    """Counts the operations of torch in a `with` block, and the places of operations that wait."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.split("::")[1]
        self.names[name] += 1
        if name in WAITING:
            frames = [f for f in traceback.extract_stack() if "site-packages" not in f.filename]
            place = frames[-2]  # the last frame is this method
            self.waits[f"{name} {Path(place.filename).name}:{place.lineno}"] += 1
        return func(*args, **(kwargs or {}))

    @property
    def kernels(self) -> int:
        """The number of operations that launch a kernel on a GPU."""
        return sum(count for name, count in self.names.items() if name not in FREE)


class OneStep(pl.Callback):
    """Counts the operations between the starts of two batches, then ends the run."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.operations = Operations()
        self.batch: Batch | None = None  # the counted batch

    def on_train_batch_start(
        self, trainer: pl.Trainer, module: pl.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        """Start to count at batch `number`, counted from 0, and end at the next batch."""
        if trainer.global_step == self.number:
            self.batch = batch
            self.operations.__enter__()
        elif trainer.global_step == self.number + 1:
            self.operations.__exit__(None, None, None)
            raise SystemExit


@contextmanager
def as_on_gpu() -> Iterator[None]:
    """Take the branches of a GPU in a `with` block, and cast in autocast as CUDA does."""
    with (
        patch.object(process, "uses_cpu_path", lambda device: False),
        patch.object(F, "layer_norm", layer_norm),
        patch.object(F, "cross_entropy", cross_entropy),
    ):
        yield


def layer_norm(
    x: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Return the layer norm; in autocast, it is computed in float32."""
    if not torch.is_autocast_enabled("cpu"):
        return LAYER_NORM(x, shape, weight, bias, eps)
    with torch.autocast("cpu", enabled=False):
        weight, bias = (None if given is None else given.float() for given in (weight, bias))
        return LAYER_NORM(x.float(), shape, weight, bias, eps)


def cross_entropy(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the cross-entropy, computed in float32; on CUDA, the cast is a part of the kernel."""
    with torch.autocast("cpu", enabled=False):
        return CROSS_ENTROPY(x.float(), *args, **kwargs)


def count_step(job: Job, number: int = 3) -> OneStep:
    """Return the counts of training step `number`, counted from 0, in a run of `ablate`."""
    counted = OneStep(number)
    with as_on_gpu(), suppress(SystemExit):
        run(dataclasses.replace(job, callbacks={"count": counted}))
    return counted


def count_ablate(folder: str, sizes: Sizes, *overrides: str) -> OneStep:
    """Return the counts of a step of the language model in bfloat16; `folder` has the results."""
    model = (f"model.n_layers={sizes.layers}", f"model.n_heads={sizes.heads}")
    width = (f"model.d_model={sizes.width}", f"model.d_ff={4 * sizes.width}")
    batch = (f"batch.context={sizes.context}", f"batch.tokens={sizes.context * sizes.batch}")
    paths = (f"paths.results={folder}", f"paths.cache={folder}/cache", "data=shakespeare_whole")
    rest = ("logger=none", "threads=1", "trainer.precision=bf16-mixed", "budget.steps=1000")
    words = ["scale=nanogpt", *model, *width, *batch, *paths, *rest, *overrides]
    return count_step(resolve(compose(words)))


def count_by_hand(sizes: Sizes) -> Operations:
    """Return the counts of a step of the hand-written loop in bfloat16."""
    text, _, vocabulary = read_text()
    shape: Mapping[str, int] = {k: v for k, v in sizes._asdict().items() if k != "batch"}
    net = Gpt(vocabulary, **shape)
    optimizer = make_optimizer(net)

    def train() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            step(net, optimizer, draw(text, sizes.context, sizes.batch), PEAK)

    with as_on_gpu():
        train()  # the first step creates the state of the optimiser
        with Operations() as operations:
            train()
    return operations


@exit_on_user_error
def main() -> None:
    """Count and print a row for each case."""
    by_hand = count_by_hand(SIZES)
    print(f"by hand: {by_hand.kernels} kernels, waits {dict(by_hand.waits)}", flush=True)
    for case, limit in LIMITS.items():
        with TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
            counted = count_ablate(folder, SIZES, *filter(None, [case]), *sys.argv[1:]).operations
        ratio = f"{counted.kernels / by_hand.kernels:.2f} (limit {limit})"
        name = case or "learned positions"
        print(f"{name}: {counted.kernels} kernels, {ratio}, waits {dict(counted.waits)}")


if __name__ == "__main__":
    main()

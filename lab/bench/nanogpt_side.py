"""One side of `lab.bench.nanogpt_speed`: a process that trains some steps for each line on stdin.

    python -m lab.bench.nanogpt_side by_hand|ablate|products SIZES [OVERRIDES...]

SIZES is layers,heads,width,context,batch. Each line on stdin is a number of steps. The answer is a
JSON line with two numbers. `seconds` is the CPU time of these steps. `grown_mib` is the memory in
MiB that the process has allocated since it imported its libraries. Memory of mapped files is not
counted, such as the code of libraries and token ids. If the overrides include `trainer=gpu`, all
sides run on a GPU. Then `seconds` is wall-clock time, and `grown_mib` is the largest memory that
torch has allocated on the GPU.

`by_hand` is the loop of `lab.bench.nanogpt_loop`. It trains in float32 on a CPU, and in the
precision of `ablate` on a GPU. `ablate` is the whole run of `python -m ablate scale=nanogpt`, which
waits between two steps. `products` computes only the matrix products of the linear maps of a step,
forward and backward, with the precision and the library that the overrides choose.
"""

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch

from ablate.model.layers import choose_products, stacked_linear
from ablate.train.resolve import hush_lightning, resolve
from ablate.train.run import run
from lab.bench import nanogpt_loop
from lab.bench.nanogpt_loop import Gpt, draw, make_optimizer, read_text
from lab.bench.ours import compose

ENDLESS = 1_000_000  # planned steps of a run that ends when stdin is closed
BFLOAT16 = "trainer.precision=bf16-mixed"
DEVICE = torch.device("cuda" if "trainer=gpu" in sys.argv else "cpu")


class Sizes(NamedTuple):
    """Sizes of the model and of a batch; the inner feed-forward width is four times `width`."""

    layers: int
    heads: int
    width: int
    context: int
    batch: int

    @property
    def tokens(self) -> int:
        """Number of tokens of a batch."""
        return self.context * self.batch


def serve(step: Callable[[], object]) -> None:
    """Answer each line on stdin: take the given number of steps, and print their time.

    A first step, which compiles and allocates, is taken before any line is read.
    """
    step()
    for line in sys.stdin:
        start = clock()
        for _ in range(int(line)):
            step()
        answer(clock() - start)


def clock() -> float:
    """Return a time in seconds: CPU time, or wall-clock time if a GPU is used.

    With a GPU, the function first waits until the GPU has finished all queued work.
    """
    if DEVICE.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def anonymous_mib() -> float:
    """Return the resident memory of this process in MiB, without mapped files."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (kib,) = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
    return int(kib) / 1024


BEFORE = anonymous_mib()  # memory after the imports, which are the same for all sides


def grown_mib() -> float:
    """Return the memory in MiB that this process has allocated since its imports.

    With a GPU, return the largest memory that torch has allocated on the GPU.
    """
    if DEVICE.type == "cpu":
        return anonymous_mib() - BEFORE
    return torch.cuda.max_memory_allocated() / 2**20


def answer(seconds: float) -> None:
    """Print a JSON line with the time of the steps and with the memory."""
    figures = {"seconds": seconds, "grown_mib": grown_mib()}
    print(json.dumps(figures), file=sys.__stdout__, flush=True)


class Turns(pl.Callback):
    """Lets a run wait for the next line on stdin, and ends the run when stdin is closed."""

    def __init__(self) -> None:
        self.left = 1  # the first step is not measured, because it compiles and allocates
        self.start: float | None = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """If all requested steps are done, print their time, and wait for the next line.

        Raises:
            SystemExit: stdin is closed.
        """
        if not self.left:
            if self.start is not None:
                answer(clock() - self.start)
            line = sys.stdin.readline()
            if not line:
                raise SystemExit
            self.left = int(line)
            self.start = clock()
        self.left -= 1


def by_hand(sizes: Sizes, overrides: Sequence[str]) -> None:
    """Serve steps of the hand-written loop."""
    half = DEVICE.type == "cuda" and BFLOAT16 in overrides
    text, _, vocab = read_text()
    *shape, batch = sizes
    net = Gpt(vocab, **dict(zip(Sizes._fields, shape, strict=False))).to(DEVICE)
    optimizer = make_optimizer(net)

    def step() -> None:
        ids = draw(text, sizes.context, batch).to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=half):
            nanogpt_loop.step(net, optimizer, ids, nanogpt_loop.PEAK)

    serve(step)


def by_command(sizes: Sizes, overrides: Sequence[str]) -> None:
    """Serve steps of a run of `ablate`, including everything that a run does between steps."""
    hush_lightning()
    with TemporaryDirectory() as folder:
        settings = [
            *(f"model.n_layers={sizes.layers}", f"model.n_heads={sizes.heads}"),
            *(f"model.d_model={sizes.width}", f"model.d_ff={4 * sizes.width}"),
            *(f"batch.context={sizes.context}", f"batch.tokens={sizes.tokens}"),
            *(
                f"budget.steps={ENDLESS}",
                f"budget.validate_every={ENDLESS}",
                "data=shakespeare_whole",
            ),
            *(f"paths.results={folder}", f"paths.cache={folder}", "logger=none"),
        ]
        job = resolve(compose(["scale=nanogpt", *settings, *overrides]))
        with redirect_stdout(sys.stderr):  # stdout is only for the answers
            run(dataclasses.replace(job, callbacks={"turns": Turns()}))


def products(sizes: Sizes, overrides: Sequence[str]) -> None:
    """Serve steps that compute only the matrix products of the linear maps."""
    choose_products("onednn" if "products=onednn" in overrides else "blas")
    dtype = torch.bfloat16 if BFLOAT16 in overrides else torch.float32
    _, _, vocab = read_text()
    rows, width = sizes.tokens, sizes.width
    maps = [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
    shapes = [*(maps * sizes.layers), (vocab, width)]
    random = partial(torch.randn, dtype=dtype, device=DEVICE)
    weights = [random(shape, requires_grad=True) for shape in shapes]
    inputs = [random(rows, inner, requires_grad=True) for _, inner in shapes]
    gradients = [random(rows, outer) for outer, _ in shapes]

    def multiply() -> None:
        results = [stacked_linear(x, [w], None) for x, w in zip(inputs, weights, strict=True)]
        torch.autograd.grad(results, [*inputs, *weights], gradients)

    serve(multiply)


def main() -> None:
    """Serve the side that the command line names."""
    side, sizes_text, *overrides = sys.argv[1:]
    sizes = Sizes(*map(int, sizes_text.split(",")))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    serve_side = {"by_hand": by_hand, "ablate": by_command, "products": products}[side]
    serve_side(sizes, overrides)


if __name__ == "__main__":
    main()

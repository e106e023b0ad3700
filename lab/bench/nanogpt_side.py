"""One side of `lab.bench.nanogpt_speed`: trains a few steps whenever it is asked to.

    python -m lab.bench.nanogpt_side by_hand|ablate|products SIZES [OVERRIDES...]

SIZES is layers,heads,width,context,batch. Of each line on stdin, a number of steps, the answer is a
line with the seconds of processor time that they took, and the MiB of memory that the process has
taken since it had its libraries. Pages of files are not counted: the code of libraries and mapped
token ids. With `trainer=gpu` among the overrides, all sides run on a GPU; seconds are wall-clock
time then, and MiB is the largest memory that torch has allocated on the GPU.

`by_hand` is the loop of `lab.bench.nanogpt_loop`, in float32 on a processor, and on a GPU in the
precision of `ablate`. `ablate` is the whole run of `python -m ablate scale=nanogpt`, held up
between two steps. `products` makes the matrix products of the linear maps of a step, forward and
backward, as the overrides of `ablate` have it, and does nothing else.
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

from ablate.model.linear import linear
from ablate.model.product import choose_products
from ablate.train.resolve import resolve
from ablate.train.run import run
from ablate.train.trainer import hush_lightning
from lab.bench import nanogpt_loop
from lab.bench.nanogpt_loop import Gpt, draw, make_optimizer, read_text
from lab.bench.ours import compose

ENDLESS = 1_000_000  # steps of a run that is ended from outside
BFLOAT16 = "trainer.precision=bf16-mixed"
DEVICE = torch.device("cuda" if "trainer=gpu" in sys.argv else "cpu")


class Sizes(NamedTuple):
    """Sizes of the model and of a batch; the feed-forward width is four times the width."""

    layers: int
    heads: int
    width: int
    context: int
    batch: int

    @property
    def tokens(self) -> int:
        """Tokens of a batch."""
        return self.context * self.batch


def serve(step: Callable[[], object]) -> None:
    """Make as many steps as each line asks for, and answer with the time that they took."""
    step()
    for line in sys.stdin:
        start = clock()
        for _ in range(int(line)):
            step()
        answer(clock() - start)


def clock() -> float:
    """Return a time in seconds: processor time, or, with a GPU, wall-clock time after waiting for
    the work that it has been given.
    """
    if DEVICE.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def anonymous_mib() -> float:
    """Return the MiB of memory of this process that are not pages of files."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (kib,) = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
    return int(kib) / 1024


BEFORE = anonymous_mib()  # of the libraries, which are the same for all sides


def grown_mib() -> float:
    """Return, in MiB, the memory without that of the libraries; on a GPU, the largest memory that
    torch has allocated there.
    """
    if DEVICE.type == "cpu":
        return anonymous_mib() - BEFORE
    return torch.cuda.max_memory_allocated() / 2**20


def answer(seconds: float) -> None:
    """Write a line about the steps that were asked for."""
    figures = {"seconds": seconds, "grown_mib": grown_mib()}
    print(json.dumps(figures), file=sys.__stdout__, flush=True)


class Turns(pl.Callback):
    """Holds up a run until the next line on stdin, and ends it where there is none."""

    def __init__(self) -> None:
        self.left = 1  # the first step compiles and allocates: it belongs to no turn
        self.start: float | None = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Answer where a turn has ended, and wait for the next one."""
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
    """Serve steps of the loop written by hand."""
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
    """Serve steps of a run of `ablate`, with all that a run does between them."""
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
        with redirect_stdout(sys.stderr):  # what a run says is no answer
            run(dataclasses.replace(job, callbacks={"turns": Turns()}))


def products(sizes: Sizes, overrides: Sequence[str]) -> None:
    """Serve the matrix products of the linear maps of a step."""
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
        results = [linear(x, weight, None) for x, weight in zip(inputs, weights, strict=True)]
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

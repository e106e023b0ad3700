"""Measure bits per byte, seconds per step and memory for options of modern Transformers.

    python -m lab.bench.options [steps=200] [what=[ROW,...]] [to=FILE]

Every row is one run of `scale=nanogpt` with a few overrides, in a separate process with one thread.
A row that the file has with the same overrides, steps and machine is not measured again. Prints all
rows of the file as a Markdown table. Times are the CPU time of the median step, on which other work
on the machine has little effect. Memory is the growth of the peak resident memory during the run,
including data and model.

Learning rates are not tuned, and each row has one seed. So the rows show the cost of an option, and
that the option trains. They do not show that it helps.
"""

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypedDict

import pytorch_lightning as pl
import torch

from ablate.errors import UserError
from ablate.train.resolve import resolve
from ablate.train.run import run as run_job
from lab.bench.command import exit_on_user_error, options
from lab.bench.ours import compose, peak_mib

RESULTS = Path(__file__).parent / "options.json"
WARM_UP = 20  # steps that are not timed
HEAD = "| option | overrides | bits per byte | ms per step | MB | parameters |"
RULE = "|---|---|---:|---:|---:|---:|"
OPTIONS: dict[str, Sequence[str]] = {
    "baseline": (),
    "baseline, seed 2": ("seed=2",),
    "baseline, seed 3": ("seed=3",),
    "ReLU": ("model/feed_forward=relu",),
    "squared ReLU": ("model/feed_forward=relu_squared",),
    "GEGLU": ("model/feed_forward=geglu",),
    "SwiGLU": ("model/feed_forward=swiglu",),
    "RMSNorm": ("model/norm=rms_norm",),
    "dynamic tanh": (
        "model/norm=dynamic_tanh",
        "initial=seeded",
        "model.embedding.scaled=true",
    ),
    "Post-LN": ("model/residual=post_ln",),
    "Peri-LN": ("model/residual=peri_ln",),
    "DeepNorm": ("model/residual=deep_norm", "initial=seeded"),
    "no positions": ("model/position=none",),
    "sinusoids": ("model/position=sinusoidal", "model.embedding.scaled=true"),
    "rotary positions": ("model/position=rotary",),
    "ALiBi": ("model/position=alibi",),
    "two groups of heads that share keys and values": (
        "model/projections=grouped",
        "model.projections.groups=2",
    ),
    "QK-norm": ("model/attention=qk_norm",),
    "QK-norm before the rotation": ("model/position=rotary", "model/attention=qk_norm_first"),
    "differential attention": ("model/attention=differential",),
    "gated attention": ("model/attention=gated",),
    "learned sink": ("model/attention=sink",),
    "window of 16": ("model/attention=window",),
    "window in half the layers": ("model/attention=window", "model.attention.global_every=2"),
    "separate embeddings": ("model/embedding=separate",),
    "biases": ("model.bias=true", "model/norm=layer_norm"),
    "parallel sub-layers": ("model/block=parallel",),
    "values of the first layer": ("model/values=first_layer",),
    "capped logits": ("model/head=soft_cap",),
    "z-loss": ("loss=z_loss",),
    "dropout 0.1": ("model.dropout.rate=0.1",),
    "Xavier initial values": ("initial=seeded",),
    "the same standard deviation for all initial values": ("initial=normal",),
    "zero output projections": ("initial=zero_output", "initial@initial.of=normal"),
    "depth-scaled output projections": ("initial=depth_scaled",),
    "twice the width": ("initial=seeded", "model.d_model=256", "model.d_ff=1024"),
    "muP at twice the width": (
        "initial=seeded",
        "model/parametrisation=mup",
        "model.d_model=256",
        "model.d_ff=1024",
    ),
    "weight decay of all parameters": ("optimizer.decayed=[matrices,embeddings,norms,biases]",),
    "no weight decay of embeddings": ("optimizer.decayed=[matrices]",),
    "Muon": ("optimizer=muon", "optimizer.lr=0.003"),
    "warm-up; stable; decay": ("schedule=wsd",),
    "constant learning rate": ("schedule=constant",),
    "batch of 4 contexts": ("batch.tokens=256", "optimizer.betas=[0.9,0.997]"),
    "deep and thin": ("model.n_layers=8", "model.d_model=92", "model.d_ff=368"),
    "speeches as documents": ("data=shakespeare",),
    "attention only within a speech": ("data=shakespeare", "task.attention=document"),
    "bytes": ("tokenizer=byte",),
    "512 subwords": ("tokenizer=bpe", "tokenizer.vocab_size=512"),
    "2048 subwords": ("tokenizer=bpe", "tokenizer.vocab_size=2048"),
}


class Row(TypedDict):
    """The results of training with an option, and the conditions of the measurement."""

    words: list[str]  # overrides of the option
    steps: int  # training steps
    machine: str
    bpb: float  # bits per byte of the validation text
    seconds: float  # CPU time of the median step
    mib: float  # growth of the peak resident memory during the run
    parameters: int  # number of parameters


class Clock(pl.Callback):
    """Measures the CPU time of each step."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_batch_end(self, *arguments: Any) -> None:
        """Store the CPU time at the end of a step."""
        self.times.append(time.process_time())

    def median(self) -> float:
        """Return the median CPU time of a step after the warm-up, in seconds."""
        timed = self.times[WARM_UP:]
        return statistics.median(b - a for a, b in zip(timed, timed[1:], strict=False))


def measure(steps: int, words: Sequence[str]) -> dict[str, float]:
    """Train with the overrides `words`; return bpb, seconds, mib and parameters as in `Row`."""
    with tempfile.TemporaryDirectory() as folder:
        budget = (f"budget.steps={steps}", f"budget.validate_every={steps}")
        base = ("scale=nanogpt", "logger=none", f"paths.results={folder}", *budget)
        config = compose([*base, *words])
        torch.set_num_threads(config.threads)
        clock, job, before = Clock(), resolve(config), peak_mib()
        with redirect_stdout(sys.stderr):
            outcome = run_job(replace(job, callbacks={**job.callbacks, "clock": clock}))
    bpb, size = (outcome["metrics"][name] for name in ("val/bpb", "parameters"))
    assert bpb is not None and size is not None
    mib = peak_mib() - before
    return {"bpb": bpb, "seconds": clock.median(), "mib": mib, "parameters": int(size)}


def read(path: Path) -> dict[str, Row]:
    """Return the rows of a file by option; {} if there is no file."""
    rows: dict[str, Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return rows


def machine() -> str:
    """Return a description of this machine: processor, cores, AMX, and the version of torch."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").split("\n\n")[0].splitlines() if path.exists() else []
    about = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    amx = "AMX" if "amx_tile" in about.get("flags", "").split() else "no AMX"
    name = about.get("model name") or platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {amx}, torch {torch.__version__}"


def table(rows: Mapping[str, Row]) -> str:
    """Return the rows as Markdown, in the order of OPTIONS."""
    return "\n".join([HEAD, RULE, *(_line(name, rows[name]) for name in OPTIONS if name in rows)])


def _line(name: str, row: Row) -> str:
    words = f"`{' '.join(row['words'])}`" if row["words"] else ""
    figures = f"{row['bpb']:.3f} | {row['seconds'] * 1e3:.0f} | {row['mib']:.0f}"
    return f"| {name} | {words} | {figures} | {row['parameters']:,} |"


@exit_on_user_error
def main() -> None:
    """Measure the missing rows, store each as soon as it is measured, and print the table."""
    defaults = {"steps": 200, "what": list(OPTIONS), "to": None}
    given, rest = options(sys.argv[1:], defaults, list(OPTIONS))
    if rest:
        raise UserError(f"{rest[0]}: rows have words of their own; give steps, what or to.")
    if given["steps"] < 2 * WARM_UP:
        raise UserError(f"steps={given['steps']}: {2 * WARM_UP} or more can be timed.")
    path = Path(given["to"] or RESULTS)
    for name in given["what"]:
        rows, words = read(path), list(OPTIONS[name])
        asked = {"words": words, "steps": given["steps"], "machine": machine()}
        if name in rows and asked.items() <= rows[name].items():
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            figures = pool.submit(measure, given["steps"], words).result()
        row: Any = {**asked, **figures}
        path.write_text(json.dumps({**rows, name: row}, indent=1) + "\n", encoding="utf-8")
    print(table(read(path)))


if __name__ == "__main__":
    main()

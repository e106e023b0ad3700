"""What a run says when it starts and when it has ended."""

import resource
import sys

import torch
from omegaconf import DictConfig
from pytorch_lightning.utilities import rank_zero_only
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ablate.config.notice import say_once
from ablate.console import make_console
from ablate.data.module import TextData
from ablate.model.base import Model
from ablate.model.inspect import parameter_table
from ablate.record.training import Record
from ablate.record.types import CombinedResult, Outcome, Shorter


@rank_zero_only
def introduce(data: TextData) -> None:
    """Say once which corpus is read, how large it is, and what of it is drawn from train."""
    say_once("; ".join(filter(None, [f"corpus: {data.about}", data.division])))


@rank_zero_only
def announce(
    config: DictConfig, data: TextData, model: Model, record: Record, *, step: int
) -> None:
    """Print a table: model, parameters per part, data, steps, where results go.

    `step` is the one that a resumed run goes on from.
    """
    table = Table(title=f"run {record.identity}", title_justify="left", show_header=False)
    sizes = {key: value for key, value in config.model.items() if isinstance(value, int)}
    table.add_row("model", "  ".join(f"{key} {value}" for key, value in sizes.items()))
    for part, count in parameter_table(model):
        table.add_row(f"  {part}", f"{count:,}")
    table.add_row("  parameters", f"{sum(p.numel() for p in model.parameters()):,}")
    table.add_section()
    languages = " to ".join(filter(None, data.languages))
    table.add_row("data", f"{languages}, vocabulary {data.src_vocab:,} / {data.tgt_vocab:,}")
    for split in data.counts:
        table.add_row(f"  {split}", data.describe(split))
    table.add_section()
    budget = config.budget
    resumed = f", resumed after {step:,}" if step else ""
    table.add_row("steps", f"{budget.steps:,} of {config.batch.tokens:,} target tokens{resumed}")
    table.add_row("rate", f"peak {config.optimizer.lr}, warm-up {budget.warmup:,} steps")
    table.add_row("seed, threads", f"{config.seed}, {config.threads}")
    table.add_row("results", str(record.folder))
    make_console().print(table)


@rank_zero_only
def _print_result(record: Record, found: CombinedResult, *, reused: bool) -> None:
    metrics = found.get("metrics", {})
    shown = {k: v for k, v in metrics.items() if k.startswith(("val/", "test", "probe/"))}
    table = Table(
        title=f"{found['status']}{' before, reused' if reused else ''}", show_header=False
    )
    for name, value in shown.items():
        table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    table.add_row("seconds", "  ".join(f"{k} {v:.1f}" for k, v in found["seconds"].items()))
    if not reused:
        table.add_row("peak memory", peak_memory())
    table.add_row("record", str(record.folder))
    console = make_console()
    console.print(table)
    for number, text in enumerate(record.evaluation.samples(), 1):
        console.print(Panel(Text(text), title=f"sample {number}", title_align="left"))
    for name, signature in found.get("signatures", {}).items():
        console.print(f"{name}: {signature}", soft_wrap=True)


def peak_memory() -> str:
    """What this process had at most, and its part of a GPU."""
    # kibibytes under Linux, bytes elsewhere
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = f"{most * (1024 if sys.platform == 'linux' else 1) / 1e6:,.0f} MB"
    if torch.cuda.is_available():
        said += f", GPU {torch.cuda.max_memory_allocated() / 1e6:,.0f} MB"
    return said


def conclude(
    record: Record, found: CombinedResult, short: Shorter, *, reused: bool, trained: bool
) -> Outcome:
    """Print the end of a run and return its result, with what of it is new.

    `short` is what the run of the short budget returned.
    """
    _print_result(record, found, reused=reused)
    return {**found, "reused": reused, "trained": trained, **short}

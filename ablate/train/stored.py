"""Print the result of a run, and find the result of an earlier run without importing torch, whose
import takes longer than everything else.
"""

import os
from bdb import BdbQuit

from omegaconf import DictConfig
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ablate.config import leaves
from ablate.config.construct import construct
from ablate.config.settle import settle
from ablate.errors import make_console
from ablate.record.identity import OUTSIDE, read_source
from ablate.record.results import RESULT, Result
from ablate.record.training import Record


def reuse(config: DictConfig) -> bool:
    """Print the stored result of a run, and return whether there is one.

    The result is also False if only the training can tell whether the stored result is valid, or if
    the config is wrong. The checks that the run makes before its training then name the fault.
    """
    if config.fresh or config.trainer.get("fast_dev_run") or "LOCAL_RANK" in os.environ:
        return False
    if config.budget.short is not None or _reads_weights(config):
        return False
    settle(config)
    try:
        read_source(config)
        record = Record(config, construct(config.data).fingerprints(), "")
    except BdbQuit:  # the user left the debugger
        raise
    except Exception:  # any wrong value, whose fault the checks of the run name
        return False
    if not (record.folder / RESULT).exists():
        return False
    with record.locked():
        result = record.stored_result()
    if result is None:
        return False
    print_result(record, result, reused=True)
    return True


def _reads_weights(config: DictConfig) -> bool:
    """Return whether the initial weights may come from a file."""
    values = leaves(config.initial)
    ours = str(values.get("_target_")).startswith("ablate.")
    return not ours or any(f"initial.{key.rpartition('.')[2]}" in OUTSIDE for key in values)


def print_result(record: Record, result: Result, *, reused: bool) -> None:
    """Print the scores of a run and the folder of its record, in the process of rank 0."""
    if not record.writes:
        return
    metrics = result.get("metrics", {})
    shown = {k: v for k, v in metrics.items() if k.startswith(("val/", "test", "probe/"))}
    table = Table(
        title=f"{result['status']}{' before, reused' if reused else ''}", show_header=False
    )
    for name, value in shown.items():
        table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    table.add_row("seconds", "  ".join(f"{k} {v:.1f}" for k, v in result["seconds"].items()))
    table.add_row("record", str(record.folder))
    console = make_console()
    console.print(table)
    for number, text in enumerate(result.get("samples", []), 1):
        console.print(Panel(Text(text), title=f"sample {number}", title_align="left"))
    for name, signature in result.get("signatures", {}).items():
        console.print(f"{name}: {signature}", soft_wrap=True)

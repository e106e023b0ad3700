"""Print the description of a run and of its data at the start, and the result at the end."""

from typing import cast

from omegaconf import DictConfig
from pytorch_lightning.utilities import rank_zero_only
from rich.table import Table

from ablate.config.notice import say_once
from ablate.console import make_console
from ablate.data.module import TextData
from ablate.model.base import Model
from ablate.model.inspect import parameter_table
from ablate.record.training import Record
from ablate.record.types import CombinedResult, Outcome
from ablate.train.compatibility import READ
from ablate.train.job import Job
from ablate.train.stored import print_result


def introduce(job: Job, data: TextData) -> None:
    """Print, once per process, which corpus is read, its size, which of its splits are taken from
    the training text, and a warning for each test split whose scores would be meaningless.
    """
    say_once("; ".join(filter(None, [f"corpus: {data.about}", data.division])))
    evaluation = job.task.evaluation(data.languages[1], thorough=False)
    for split in job.config.test_splits if job.probe is None else ():
        if reason := evaluation.doubt(data.references(split)[:READ]):
            say_once(f"warning, {split}: {reason}")


@rank_zero_only
def announce(
    config: DictConfig, data: TextData, model: Model, record: Record, *, step: int
) -> None:
    """Print a table about the run: model, parameters of each sub-module, data, steps, folder of the
    results.

    `step` is the step from which a resumed run continues.
    """
    table = Table(title=f"run {record.identity}", title_justify="left", show_header=False)
    sizes = {key: value for key, value in config.model.items() if isinstance(value, int)}
    table.add_row("model", "  ".join(f"{key} {value}" for key, value in sizes.items()))
    for part, count in parameter_table(model):
        table.add_row(f"  {part}", f"{count:,}")
    table.add_row("  parameters", f"{sum(p.numel() for p in model.parameters()):,}")
    table.add_section()
    vocabularies = f"{data.tokenizers.src.size:,} / {data.tokenizers.tgt.size:,}"
    languages = " to ".join(filter(None, data.languages))
    table.add_row("data", f"{languages}, vocabulary {vocabularies}")
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


def conclude(
    record: Record, result: CombinedResult, short: Outcome | None, *, reused: bool, trained: bool
) -> Outcome:
    """Print the result of a run and return its outcome.

    Args:
        record: the record of the run, which has its folder.
        result: the result of training and test.
        short: the outcome of the run with `budget.short` steps, if there is one.
        reused: whether the whole result was stored by an earlier call.
        trained: whether this call has trained.
    """
    print_result(record, result, reused=reused)
    more = {"short": short} if short else {}
    return cast(Outcome, {**result, "reused": reused, "trained": trained, **more})

"""Compare `ablate` with a hand-written loop on this machine, by alternating measurements.

    python -m lab.bench.compare [data.root=FOLDER] [what=[ROW,...]] [rounds=5] [seconds=30]
        [warm_up=10] [threads=2] [run=RUN] [overhead_steps=300] [training_steps=600]

Both sides get the same sentences, vocabulary, tokens per batch, places of dropout, label smoothing
and number of threads. Both count target tokens without padding. Each round measures one side after
the other. A ratio is the median of ours / other over the rounds. `run` is the folder of a finished
run of `model=tiny` on this data, and both sides decode with its weights. Without `run`, a short run
is trained first. Unless a row names another precision, `ablate` trains in the precision that
`trainer.precision=auto` selects on this machine. All other arguments are overrides of `ablate`.
Writes the rows to lab/bench/results.json and prints the table. docs/explanation/benchmarks.md
explains each row.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.bench.command import environment, exit_on_user_error, finish, options, run
from lab.bench.record import Row, keep, row
from lab.bench.setting import FAST, PRECISION, TINY, WIDE, Setting
from lab.bench.sweep_overhead import seconds_beyond
from lab.bench.table import table

Comparison = Callable[[Setting, str], list[Row]]

TOKENS = "target tokens/s"
AUTO = f"auto: {PRECISION}"
BF16 = ("--bf16",) if PRECISION == "bf16-mixed" else ()
TRICKS = (*BF16, "--loss", "chunk", "--dropout", "bytes")
# variables with which glibc keeps freed memory, as ablate.process does for the other side
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "8589934592",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "268435456",
}
OVERHEAD_LIMIT = 0.03
SWEEP_OVERHEAD_LIMIT = 1.0
DEFAULTS = {
    "rounds": 5,
    "seconds": 30.0,
    "warm_up": 10.0,
    "threads": 2,
    "run": None,
    "overhead_steps": 300,
    "training_steps": 600,
}


def training(
    ours: Sequence[str], other: Sequence[str], settings: str, **variables: str
) -> Comparison:
    """Return a comparison of training speed in target tokens per second.

    Args:
        ours: overrides of `ablate`.
        other: arguments of the baseline.
        settings: description of both sides for the results.
        variables: environment variables of the baseline.
    """

    def compare(setting: Setting, what: str) -> list[Row]:
        def rate() -> float:
            return float(finish(setting.ours("train", ours))["rate"])

        def baseline() -> float:
            return float(setting.baseline("train", other, **variables)["tgt_tok_s_mean"])

        return [setting.alternate(what, rate, baseline, TOKENS, settings)]

    return compare


def decoding(mode: str) -> Comparison:
    """Return a comparison of decoding speed in sentences per second, on the test split.

    Both sides have the same weights, and stop each sentence at EOS. `mode` is greedy or beam.
    """

    def compare(setting: Setting, what: str) -> list[Row]:
        def rate() -> float:
            return setting.decoding(mode)

        def baseline() -> float:
            return float(setting.baseline(mode, ["--bleu"])["sent_s"])

        workers = setting.options["threads"]
        settings = f"fp32, {workers} workers of one thread; other: key/value cache written by hand"
        return [setting.alternate(what, rate, baseline, "sentences/s", settings)]

    return compare


def sweep_tiny(setting: Setting, what: str) -> list[Row]:
    """Compare several simultaneous runs of `ablate` with one run of the baseline on all threads.

    There is one run of `ablate` for each thread. Its result is the sum of their speeds.
    """
    runs = setting.options["threads"]

    def rate() -> float:
        arms = [[*TINY, FAST, f"seed={seed}"] for seed in range(1, runs + 1)]
        return setting.several("train", *arms)

    def baseline() -> float:
        return float(setting.baseline("train", [])["tgt_tok_s_mean"])

    settings = f"{runs} runs at once, one thread each, {AUTO}; other: its defaults"
    return [setting.alternate(what, rate, baseline, TOKENS, settings)]


def memory_train(setting: Setting, what: str) -> list[Row]:
    """Compare the peak resident memory of training with that of the baseline."""

    def peak() -> float:
        return float(finish(setting.ours("train", TINY))["peak_mib"])

    def baseline() -> float:
        return float(setting.baseline("train", [])["peak_rss_mib"])

    settings = "fp32; other: the baseline's defaults"
    return [setting.alternate(what, peak, baseline, "MiB", settings)]


def overhead(setting: Setting, what: str) -> list[Row]:
    """Compare the overhead of training, as a proportion of its wall time, with the limit."""
    threads = setting.options["threads"]
    steps = str(setting.options["overhead_steps"])
    budget = ("budget.steps=1000000", "budget.validate_every=1000000", f"threads={threads}")
    wandb = ("logger=wandb", "logger.mode=offline")
    command = ["-m", "lab.bench.overhead", steps, *TINY, FAST, *wandb, *budget, *setting.rest]

    def share() -> float:
        return float(run(command, environment(threads))["overhead"])

    settings = f"{steps} steps, {AUTO}, W&B offline; other: the limit"
    unit = "share of wall time"
    return [setting.alternate(what, share, lambda: OVERHEAD_LIMIT, unit, settings)]


def sweep_overhead(setting: Setting, what: str) -> list[Row]:
    """Compare the seconds of a tiny run beyond training, validation and test with the limit.

    Returns two rows: for the time in the record of a run, and for the time between two starts.
    """
    recorded, whole = seconds_beyond(setting.folder / "sweep", setting.options["threads"])
    limit = [SWEEP_OVERHEAD_LIMIT]
    settings = "{}, median of 20 runs, W&B offline; other: the limit"
    return [
        row(what, [recorded], limit, "s", settings.format("as the records have it")),
        row(f"{what}_whole", [whole], limit, "s", settings.format("from one start to the next")),
    ]


COMPARISONS: dict[str, Comparison] = {
    "train_tiny_auto": training([*TINY, FAST], [], f"{AUTO}; other: its defaults, fp32"),
    "train_tiny_auto_all_tricks": training(
        [*TINY, FAST],
        TRICKS,
        f"{AUTO}; other: the same, chunked loss, byte dropout, malloc kept",
        **MALLOC,
    ),
    "train_tiny_fp32": training(TINY, [], "fp32; other: its defaults"),
    "sweep_tiny": sweep_tiny,
    "train_wide": training(
        [*WIDE, FAST], ["--arch", "base-ish"], f"{AUTO}; other: its defaults, fp32"
    ),
    "overhead": overhead,
    "sweep_overhead": sweep_overhead,
    "greedy": decoding("greedy"),
    "beam5": decoding("beam"),
    "memory_train": memory_train,
}


@exit_on_user_error
def main() -> None:
    """Measure the selected rows, store each row as soon as it is measured, and print the table."""
    defaults = {**DEFAULTS, "what": list(COMPARISONS)}
    values, rest = options(sys.argv[1:], defaults, list(COMPARISONS))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(values, rest, Path(folder))
        for what in values["what"]:
            rows = keep(COMPARISONS[what](setting, what))
    print(table(rows))


if __name__ == "__main__":
    main()

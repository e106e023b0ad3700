"""Ours beside the hand-written loop, in turn, on this machine.

    python -m lab.bench.compare [data.root=FOLDER] [what=[ROW,...]] [rounds=5] [seconds=30]
        [warm_up=10] [threads=2] [run=RUN] [overhead_steps=300] [training_steps=600]

Both sides get the same sentences, vocabulary, token budget, dropout sites, label smoothing and
number of threads, and count non-padding target tokens. A ratio is the median over the rounds of
ours / other, each round measuring the two one after the other. `run` is the folder of a finished
run of `model=tiny` on this data, whose weights both sides decode with; without it a short one is
trained first. Where no row says otherwise, ours trains in the precision that
`trainer.precision=auto` is on this machine. Everything else goes to `ablate` as it is. Puts its
rows into lab/bench/results.json and prints the table; docs/explanation/benchmarks.md
says what each row means.
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
# glibc keeps what it has: the baseline's counterpart of ablate.process
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
    """Compare training with these overrides, arguments of the baseline, and its environment."""

    def compare(setting: Setting, what: str) -> list[Row]:
        def rate() -> float:
            return float(finish(setting.ours("train", ours))["rate"])

        def baseline() -> float:
            return float(setting.baseline("train", other, **variables)["tgt_tok_s_mean"])

        return [setting.alternate(what, rate, baseline, TOKENS, settings)]

    return compare


def decoding(mode: str) -> Comparison:
    """Compare the translation of test with the same weights, stopping at EOS."""

    def compare(setting: Setting, what: str) -> list[Row]:
        def rate() -> float:
            return setting.decoding(mode)

        def baseline() -> float:
            return float(setting.baseline(mode, ["--cached", "--bleu"])["sent_s"])

        workers = setting.options["threads"]
        settings = f"fp32, {workers} workers of one thread; other: key/value cache written by hand"
        return [setting.alternate(what, rate, baseline, "sentences/s", settings)]

    return compare


def sweep_tiny(setting: Setting, what: str) -> list[Row]:
    """Compare as many of our runs as there are threads, one thread each, with one run at a time."""
    runs = setting.options["threads"]

    def rate() -> float:
        arms = [[*TINY, FAST, f"seed={seed}"] for seed in range(1, runs + 1)]
        return setting.several("train", *arms)

    def baseline() -> float:
        return float(setting.baseline("train", [])["tgt_tok_s_mean"])

    settings = f"{runs} runs at once, one thread each, {AUTO}; other: its defaults"
    return [setting.alternate(what, rate, baseline, TOKENS, settings)]


def memory_train(setting: Setting, what: str) -> list[Row]:
    """Compare peak resident memory with the baseline's."""

    def peak() -> float:
        return float(finish(setting.ours("train", TINY))["peak_mib"])

    def baseline() -> float:
        return float(setting.baseline("train", [])["peak_rss_mib"])

    settings = "fp32; other: the baseline's defaults"
    return [setting.alternate(what, peak, baseline, "MiB", settings)]


def overhead(setting: Setting, what: str) -> list[Row]:
    """Compare the share of training outside of its own work with the limit."""
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
    """Compare the seconds of tiny runs beyond training, validation and test with the limit."""
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
    """Measure what is asked for, and keep each comparison as soon as it is done."""
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

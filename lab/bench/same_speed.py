"""Whether two checkouts train and search at the same speed, measured in turn.

    python -m lab.bench.same_speed BEFORE AFTER [--work FOLDER] [--only TEXT] [--rounds 5]
        [--seconds 15] [--threads 2] [OVERRIDES...]

A row of each of `lab.bench.ours`: training of model=tiny and model=small in float32, target tokens
per second; greedy and beam search of model=tiny with weights that the checkout itself has trained
by one command, sentences per second. A round measures BEFORE and then AFTER, each with its own
`lab.bench.ours` in a process of its own; a ratio is after / before of one round. Exits with 1 where
the median ratio of a row is below 0.95. For Multi30k:

    python -m lab.bench.same_speed BEFORE AFTER data.root=FOLDER
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ablate.errors import UserError
from lab.bench.command import environment, exit_on_user_error, run
from lab.bench.setting import ENDLESS, TINY, WIDE
from lab.bench.table import number

LEAST = 0.95
FLOAT32 = "trainer.precision=32-true"
ROWS = {
    "train model=tiny": ("train", TINY),
    "train model=small": ("train", WIDE),
    "greedy model=tiny": ("greedy", TINY),
    "beam model=tiny": ("beam", TINY),
}
# so few steps need small batches and a small rate to end sentences where they end
SHORT = (
    *("batch.tokens=1024", "budget.steps=400", "budget.validate_every=400", "budget.warmup=100"),
    *("optimizer.lr=0.001", "checkpoint.tested=last", "name=same_speed", "logger=none"),
)


@exit_on_user_error
def main() -> None:
    """Measure, print the table, and exit with the status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="checkout with its own .venv")
    parser.add_argument("after", type=Path, help="the other one")
    parser.add_argument("overrides", nargs="*", help="of ablate, for both")
    parser.add_argument("--work", type=Path, help="folder for the weights and caches of both")
    parser.add_argument("--only", default="", help="rows that contain this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_intermixed_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="same_speed_"))
    how = {"seconds": given.seconds, "threads": given.threads, "overrides": given.overrides}
    sides = [
        Side(checkout.resolve(), work.resolve() / name, **how)
        for name, checkout in (("before", given.before), ("after", given.after))
    ]
    print("| row | before | after | after / before | between |\n|---|---:|---:|---:|---|")
    ratios = [row(what, sides, given.rounds) for what in ROWS if given.only in what]
    sys.exit(int(min(ratios, default=1.0) < LEAST))


class Side:
    """One of the two checkouts."""

    def __init__(
        self, checkout: Path, work: Path, *, seconds: float, threads: int, overrides: list[str]
    ) -> None:
        self.checkout = checkout
        self.work = work
        self.seconds = seconds
        self.env = environment(threads)
        paths = f"paths.cache={work / 'cache'}"
        self.overrides = [FLOAT32, f"threads={threads}", paths, *overrides]

    def rate(self, what: str) -> float:
        """Return target tokens or sentences per second of one window."""
        mode, overrides = ROWS[what]
        weights = "-" if mode == "train" else str(self.weights())
        command = ["-m", "lab.bench.ours", mode, str(self.seconds), weights, "--warm-up", "5"]
        command += [*overrides, *ENDLESS, *self.overrides]
        return float(run(command, self.env, self.python, self.checkout)["rate"])

    def weights(self) -> Path:
        """Return the weights of the run that this checkout has trained, now or before.

        Raises:
            UserError: training has failed.
        """
        results = self.work / "results"
        if not (weights := sorted(results.glob("runs/*/weights.pt"))):
            overrides = [*TINY, *self.overrides, *SHORT, f"paths.results={results}"]
            command = [self.python, "-m", "ablate", *overrides]
            subprocess.run(command, cwd=self.checkout, env=self.env, stdout=subprocess.DEVNULL)
            weights = sorted(results.glob("runs/*/weights.pt"))
        if not weights:
            raise UserError(f"{self.checkout} has trained no weights; what was wrong stands above.")
        return weights[0]

    @property
    def python(self) -> str:
        """The interpreter of the checkout."""
        return str(self.checkout / ".venv/bin/python")


def row(what: str, sides: Sequence[Side], rounds: int) -> float:
    """Measure a row in turn, print it, and return the median ratio."""
    pairs = [[side.rate(what) for side in sides] for _ in range(rounds)]
    before, after = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    ratios = sorted(after / before for before, after in pairs)
    middle = statistics.median(ratios)
    between = f"{ratios[0]:.2f} and {ratios[-1]:.2f}"
    figures = f"{number(before)} | {number(after)} | {middle:.2f} | {between}"
    print(f"| {what} | {figures} |", flush=True)
    return middle


if __name__ == "__main__":
    main()

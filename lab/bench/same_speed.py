"""Check whether two checkouts train and decode at the same speed, by alternating measurements.

    python -m lab.bench.same_speed BEFORE AFTER [--work FOLDER] [--only TEXT] [--rounds 5]
        [--seconds 15] [--threads 2] [OVERRIDES...]

Two rows measure training of model=tiny and model=small in float32, in target tokens per second. Two
rows measure greedy and beam search of model=tiny, in sentences per second, with weights that the
checkout itself has trained. A round measures BEFORE and then AFTER, each with the checkout's
`lab.bench.ours` in a separate process. A ratio is after / before of one round. Exits with 1 if the
median ratio of a row is below 0.95. For Multi30k:

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
# With so few steps, a model learns where sentences end only with small batches and learning rates.
SHORT = (
    *("batch.tokens=1024", "budget.steps=400", "budget.validate_every=400", "budget.warmup=100"),
    *("optimizer.lr=0.001", "checkpoint.tested=last", "name=same_speed", "logger=none"),
)


@exit_on_user_error
def main() -> None:
    """Measure the rows, print the table, and exit with the exit status.

    Raises:
        UserError: a checkout has failed.
        SystemExit: always; the status is 1 if AFTER is slower.
    """
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
    """A checkout that is measured, with the settings of its processes."""

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
        """Measure a row once; return target tokens or sentences per second.

        Raises:
            UserError: the process has failed.
        """
        mode, overrides = ROWS[what]
        weights = "-" if mode == "train" else str(self.weights())
        command = ["-m", "lab.bench.ours", mode, str(self.seconds), weights, "--warm-up", "5"]
        command += [*overrides, *ENDLESS, *self.overrides]
        return float(run(command, self.env, self.python, self.checkout)["rate"])

    def weights(self) -> Path:
        """Return the file of weights for decoding; train them first if necessary.

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
        """The path of the checkout's Python interpreter."""
        return str(self.checkout / ".venv/bin/python")


def row(what: str, sides: Sequence[Side], rounds: int) -> float:
    """Measure a row on both sides alternately, print it, and return the median ratio.

    Args:
        what: a key of ROWS.
        sides: BEFORE and AFTER.
        rounds: number of rounds.
    """
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

"""Compare `scale=nanogpt` with a hand-written training loop of a small GPT, over several seeds.

    python -m lab.bench.nanogpt [seeds=5] [steps=2000] [to=results/nanogpt.jsonl] [OVERRIDES...]

The loop is `lab.bench.nanogpt_loop`. Both sides have nanoGPT's settings for a laptop. Both are
evaluated on the whole last tenth of tiny Shakespeare. Our side is the command `python -m ablate`
with its record. Each run is a separate process with one thread. The side that runs first alternates
between seeds. Milliseconds are the median time of a step; for our side, the median over windows of
steps without validation. Results are stored in the file `to`, so the command can be stopped and
started again. tests/lab/bench/test_nanogpt_steps.py tests that both sides compute the same numbers
from the same weights and batches.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ablate.errors import UserError
from ablate.record.results import Result, read_result
from lab.bench.command import environment, exit_on_user_error, options, run

DEFAULTS = {"seeds": 5, "steps": 2000, "to": "results/nanogpt.jsonl"}
HEAD = "| seed | nats per character: by hand | ablate | difference | ms a step: by hand | ablate |"
RULE = "|---|---:|---:|---:|---:|---:|"
Clock = list[tuple[int, float]]  # number of steps, and the time in seconds after these steps


class Side(NamedTuple):
    """The results of a run of one side."""

    nll: float  # nats per character of the validation text
    seconds: float  # seconds per step
    parameters: int  # number of parameters


def by_hand(seed: int, steps: int) -> Side:
    """Train the small GPT with the hand-written loop, and return its results.

    Raises:
        UserError: the run has failed.
    """
    words = ["-m", "lab.bench.nanogpt_loop", f"seed={seed}", f"steps={steps}"]
    return Side(**run(words, environment(1)))


def by_command(seed: int, steps: int, rest: Sequence[str]) -> Side:
    """Train with `python -m ablate` and the overrides `rest`, and return the results.

    Raises:
        UserError: the run has not finished.
    """
    budget = [f"budget.steps={steps}", f"budget.validate_every={steps}"]
    words = ["scale=nanogpt", "logger=none", f"seed={seed}", *budget, *rest]
    result, clock = trained(words)
    metrics = result["metrics"]
    nll, size = metrics["val/nll_per_character"], metrics["parameters"]
    assert nll is not None and size is not None
    return Side(nll, pace(clock), int(size))


def trained(overrides: Sequence[str]) -> tuple[Result, Clock]:
    """Train with `python -m ablate`; return the result of the run and the times of its steps.

    Raises:
        UserError: the run has not finished.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ablate", *overrides, f"paths.results={folder}"]
        done = subprocess.run(command, env=environment(1), stdout=subprocess.DEVNULL, check=False)
        runs = sorted(Path(folder).glob("runs/*/"))
        result = read_result(runs[0]) if runs else None
        if done.returncode or result is None or result["status"] != "finished":
            raise UserError(f"{' '.join(command[1:])} has left no result")
        return result, read_clock(runs[0] / "metrics.jsonl")


def read_clock(path: Path) -> Clock:
    """Return the steps and times of a run from its metrics.jsonl, without lines of validations."""
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return [(line["step"], line["time"]) for line in lines if "val/nll" not in line]


def pace(clock: Clock) -> float:
    """Return the median seconds per step over the windows between two log lines of a run.

    Raises:
        UserError: the run has fewer than two log lines.
    """
    if len(clock) < 2:
        raise UserError("steps are too few to be timed: give twice trainer.log_every_n_steps")
    return statistics.median((b - a) / (j - i) for (i, a), (j, b) in pairwise(clock))


def line(name: str, hand: Side, ours: Side) -> str:
    """Return a row of the table, with the results of both sides."""
    nlls = f"{hand.nll:.4f} | {ours.nll:.4f} | {ours.nll - hand.nll:+.4f}"
    return f"| {name} | {nlls} | {hand.seconds * 1e3:.1f} | {ours.seconds * 1e3:.1f} |"


def mean(sides: Sequence[Side]) -> Side:
    """Return the mean nll and the median seconds of several runs of a side."""
    nll = statistics.fmean(side.nll for side in sides)
    return Side(nll, statistics.median(side.seconds for side in sides), sides[0].parameters)


def standard_error(pairs: Sequence[tuple[Side, Side]]) -> float:
    """Return the standard error of the difference between the mean nll; NaN for a single pair."""
    if len(pairs) < 2:
        return math.nan
    variances = [
        statistics.variance(side.nll for side in sides) for sides in zip(*pairs, strict=True)
    ]
    return math.sqrt(sum(variances) / len(pairs))


def kept(path: Path, key: dict[str, Any], train: Callable[[], Side]) -> Side:
    """Return the results of a run from a file; if they are missing, train, and add them.

    An incomplete last line is ignored.

    Args:
        path: file with one run per line.
        key: settings of the run, by which it is looked up.
        train: trains the run.
    """
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with suppress(json.JSONDecodeError):
            row = json.loads(text)
            if row["run"] == key:
                return Side(**row["result"])
    side = train()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        # the first line break ends an incomplete line
        file.write(f"\n{json.dumps({'run': key, 'result': side._asdict()})}\n")
    return side


@exit_on_user_error
def main() -> None:
    """Train both sides with every seed, and print a table of the results."""
    given, rest = options(sys.argv[1:], {**DEFAULTS, "what": ["all"]}, ["all"])
    steps, path = given["steps"], Path(given["to"])
    pairs: list[tuple[Side, Side]] = []
    print(f"{HEAD}\n{RULE}", flush=True)
    for seed in range(1, given["seeds"] + 1):
        run = {"seed": seed, "steps": steps}
        sides = [
            ({**run, "side": "by hand"}, partial(by_hand, seed, steps)),
            ({**run, "side": "ablate", "overrides": rest}, partial(by_command, seed, steps, rest)),
        ]
        turn = sides if seed % 2 else sides[::-1]
        results = [kept(path, key, train) for key, train in turn]
        hand, ours = results if seed % 2 else results[::-1]
        pairs.append((hand, ours))
        print(line(str(seed), hand, ours), flush=True)
    hand, ours = (mean(side) for side in zip(*pairs, strict=True))
    print(line("mean; median", hand, ours))
    print(f"\nstandard error of the difference over seeds: {standard_error(pairs):.4f}")
    print(f"{hand.parameters:,} and {ours.parameters:,} parameters")


if __name__ == "__main__":
    main()

"""Compare two models of `ablate` with torch's modules in a hand-written training loop.

    python -m lab.bench.language_models [what=[ROW,...]] [seeds=5] [updates=3000] [OVERRIDES...]

Rows: language_model (a language model, compared with nn.TransformerEncoder) and recurrent (a
translator, compared with nn.LSTM). Our side is the command `python -m ablate` with its record. The
other side is `lab.bench.torch_loop` with the same config. Both train on the same tokens in the same
order. Each run is a separate process. The side that runs first alternates between seeds. Perplexity
is exp(nll) of the validation tokens. Tokens per second come from the median time of a step over
windows between two log lines, without validation. To use the German side of Multi30k:

    python -m lab.bench.language_models data.root=FOLDER
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ablate.errors import UserError
from ablate.record.sealed import read_result
from ablate.record.types import Result
from lab.bench.command import environment, exit_on_user_error, options, run

ROWS = {
    "language_model": ["model=decoder_only", "task=language_model"],
    "recurrent": ["model=rnn", "task=translation"],
}
DEFAULTS = {"seeds": 5, "updates": 3000, "threads": 1}
SETTING = ("scale=multi30k", "loss=cross_entropy", "logger=none", "search=greedy")
HEAD = "| system | seed | perplexity: torch | ablate | tokens/s: torch | ablate | ablate / torch |"
RULE = "|---|---|---:|---:|---:|---:|---:|"
Clock = list[tuple[int, float]]  # number of steps, and the time in seconds after these steps


class Side(NamedTuple):
    """A run of one side: its validation nll, number of parameters, and times of its steps."""

    nll: float
    parameters: int
    clock: Clock


class Pair(NamedTuple):
    """The runs of both sides with one seed, and the mean number of target tokens of a step."""

    seed: int
    torch: Side
    ours: Side
    tokens: float

    @property
    def rates(self) -> tuple[float, float]:
        """Target tokens per second of torch's side and of our side."""
        return self.tokens / pace(self.torch.clock), self.tokens / pace(self.ours.clock)


def pace(clock: Clock) -> float:
    """Return the median seconds per step over the windows between two log lines of a run.

    Raises:
        UserError: the run has fewer than two log lines.
    """
    if len(clock) < 2:
        raise UserError("updates are too few to be timed: give twice trainer.log_every_n_steps")
    return statistics.median((b - a) / (j - i) for (i, a), (j, b) in pairwise(clock))


def pair(name: str, seed: int, values: dict[str, Any], rest: Sequence[str]) -> Pair:
    """Train both sides with a seed; our side runs first if the seed is odd.

    Args:
        name: a key of ROWS.
        seed: the seed.
        values: values of the options `updates` and `threads`.
        rest: overrides for both sides.

    Raises:
        UserError: a side has failed.
    """
    steps = (f"budget.steps={values['updates']}", f"budget.validate_every={values['updates']}")
    words = [
        *SETTING,
        *ROWS[name],
        *steps,
        f"threads={values['threads']}",
        f"seed={seed}",
        *rest,
    ]
    env = environment(values["threads"])
    if seed % 2:
        ours = by_command(words, env)
    other = run(["-m", "lab.bench.torch_loop", name, *words], env)
    if not seed % 2:
        ours = by_command(words, env)
    theirs = Side(other["nll"], other["parameters"], [(i, t) for i, t in other["clock"]])
    return Pair(seed, theirs, ours, other["tokens"])


def by_command(overrides: Sequence[str], env: dict[str, str]) -> Side:
    """Train with `python -m ablate`, and read the record of the run.

    Raises:
        UserError: the run has failed or diverged.
    """
    result, clock = trained(overrides, env, ("finished", "collapsed"))
    nll, size = result["metrics"]["val/nll"], result["metrics"]["parameters"]
    assert nll is not None and size is not None
    return Side(nll, int(size), clock)


def trained(
    overrides: Sequence[str], env: dict[str, str], statuses: Collection[str]
) -> tuple[Result, Clock]:
    """Train with `python -m ablate`; return the result of the run and the times of its steps.

    Raises:
        UserError: the run has failed, or its status is not one of `statuses`.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ablate", *overrides, f"paths.results={folder}"]
        done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False)
        runs = sorted(Path(folder).glob("runs/*/"))
        result = read_result(runs[0]) if runs else None
        if done.returncode or result is None or result["status"] not in statuses:
            raise UserError(f"{' '.join(command[1:])} has left no result")
        return result, read_clock(runs[0] / "metrics.jsonl")


def read_clock(path: Path) -> Clock:
    """Return the steps and times of a run from its metrics.jsonl, without lines of validations."""
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return [(line["step"], line["time"]) for line in lines if "val/nll" not in line]


def table(name: str, pairs: Sequence[Pair]) -> str:
    """Return the lines of a Markdown table: one for every seed, and a summary.

    The summary has the mean and standard deviation of perplexity, and the median of speeds and
    of their ratio.
    """
    lines = [_line(name, pair) for pair in pairs]
    sides = [
        [math.exp(pair.torch.nll) for pair in pairs],
        [math.exp(pair.ours.nll) for pair in pairs],
    ]
    rates = [*zip(*(pair.rates for pair in pairs), strict=True)]
    cells = [f"{statistics.fmean(side):.2f} ± {spread(side):.2f}" for side in sides]
    cells += [f"{statistics.median(side):,.0f}" for side in rates]
    ratio = statistics.median(ours / theirs for theirs, ours in zip(*rates, strict=True))
    lines.append(f"| {name} | mean ± sd; median | {' | '.join(cells)} | {ratio:.2f} |")
    return "\n".join(lines)


def _line(name: str, pair: Pair) -> str:
    theirs, ours = pair.rates
    cells = [f"{math.exp(side.nll):.2f}" for side in (pair.torch, pair.ours)]
    cells += [f"{theirs:,.0f}", f"{ours:,.0f}", f"{ours / theirs:.2f}"]
    return f"| {name} | {pair.seed} | {' | '.join(cells)} |"


def difference(pairs: Sequence[Pair]) -> str:
    """Return a sentence with the difference between mean perplexities and its standard error."""
    sides = [
        [math.exp(both.torch.nll) for both in pairs],
        [math.exp(both.ours.nll) for both in pairs],
    ]
    apart = statistics.fmean(sides[1]) - statistics.fmean(sides[0])
    noise = math.sqrt(sum(spread(side) ** 2 / len(side) for side in sides))
    sizes = f"{pairs[0].torch.parameters:,} and {pairs[0].ours.parameters:,} parameters"
    return f"ablate - torch: {apart:+.2f}, standard error over seeds {noise:.2f}; {sizes}"


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation; NaN for a single value."""
    return statistics.stdev(values) if len(values) > 1 else math.nan


@exit_on_user_error
def main() -> None:
    """Measure the selected rows, and print each as a table."""
    values, rest = options(sys.argv[1:], {**DEFAULTS, "what": list(ROWS)}, list(ROWS))
    for name in values["what"]:
        pairs = []
        for seed in range(1, values["seeds"] + 1):
            pairs.append(pair(name, seed, values, rest))
            print(_line(name, pairs[-1]), file=sys.stderr, flush=True)
        print(f"{HEAD}\n{RULE}\n{table(name, pairs)}\n\n{name}: {difference(pairs)}\n", flush=True)


if __name__ == "__main__":
    main()

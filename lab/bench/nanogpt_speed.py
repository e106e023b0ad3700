"""Compare the speed of `scale=nanogpt` with a hand-written training loop, on one thread each.

    python -m lab.bench.nanogpt_speed [what=[ROW,...]] [pairs=9] [steps=10] [OVERRIDES...]

Rows: laptop (4 layers, width 128, context 64, 12 contexts) and wide (6 layers, width 384, context
256, 4 contexts). In these rows, `ablate` computes float32 products with oneDNN. In the rows
laptop_blas and wide_blas, it uses torch's BLAS library, as the loop does. In the rows
laptop_bfloat16 and wide_bfloat16, `ablate` trains in bfloat16 and the loop in float32. The row gpu
(6 layers, width 384, context 256, 64 contexts, all sides in bfloat16) needs a GPU, and is measured
only if `what` names it.
Each row has three sides: the loop, `ablate`, and `products`, which computes only the matrix
products of the linear maps of a step of `ablate`. Each side is a process. In each turn, one side
after the other takes some steps while the other sides wait. `pairs` is the number of turns. Times
are CPU times, or wall-clock times on a GPU.
"""

import json
import statistics
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ablate.errors import UserError
from lab.bench.command import environment, exit_on_user_error, options, start
from lab.bench.nanogpt_side import Sizes

LAPTOP, WIDE = Sizes(4, 4, 128, 64, 12), Sizes(6, 6, 384, 256, 4)
FLOAT32 = ("products=onednn",)
BFLOAT16 = ("trainer.precision=bf16-mixed", "model/attention=explicit")
ROWS = {
    "laptop": (LAPTOP, FLOAT32),
    "laptop_blas": (LAPTOP, ()),
    "laptop_bfloat16": (LAPTOP, BFLOAT16),
    "wide": (WIDE, FLOAT32),
    "wide_blas": (WIDE, ()),
    "wide_bfloat16": (WIDE, BFLOAT16),
}
ON_GPU = {"gpu": (WIDE._replace(batch=64), ("trainer=gpu", "trainer.precision=bf16-mixed"))}
DEFAULTS = {"pairs": 9, "steps": 10}
HEAD = (
    "| row | ms a step: by hand | ablate | speed-up | middle half | products | MiB: by hand "
    "| ablate |"
)
RULE = "|---|---:|---:|---:|---|---:|---:|---:|"


class Measured(NamedTuple):
    """The measurements of a row, by side: seconds per step in each turn, and largest memory."""

    seconds: dict[str, list[float]]
    grown_mib: dict[str, float]

    @property
    def ratios(self) -> list[float]:
        """The time of the loop divided by the time of `ablate` in each turn, ascending."""
        pairs = zip(self.seconds["by_hand"], self.seconds["ablate"], strict=True)
        return sorted(hand / ours for hand, ours in pairs)

    def median(self, side: str) -> float:
        """Return the median over the turns of the seconds per step of a side."""
        return statistics.median(self.seconds[side])


def measure(sizes: Sizes, overrides: Sequence[str], *, turns: int, steps: int) -> Measured:
    """Measure all sides in turns of `steps` steps each; the order of the sides alternates.

    Args:
        sizes: sizes of the model and of a batch.
        overrides: overrides of `ablate`.
        turns: number of turns, without a first turn for warm-up.
        steps: steps of each side in a turn.

    Raises:
        UserError: a side has failed.
    """
    shape = ",".join(map(str, sizes))
    sides = {
        side: start(["-m", "lab.bench.nanogpt_side", side, shape, *overrides], environment(1))
        for side in ("by_hand", "ablate", "products")
    }
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    grown_mib = dict.fromkeys(sides, 0.0)
    try:
        for turn in range(turns + 1):  # the first turn is a warm-up
            for side in list(sides)[:: 1 if turn % 2 else -1]:
                figures = ask(sides[side], steps)
                grown_mib[side] = max(grown_mib[side], figures["grown_mib"])
                if turn:
                    seconds[side].append(figures["seconds"] / steps)
    finally:
        for process in sides.values():
            process.stdin.close()
            process.wait()
            process.stdout.close()
    return Measured(seconds, grown_mib)


def ask(process: Any, steps: int) -> dict[str, float]:
    """Let a side take some steps, and return their seconds and the memory in MiB.

    Raises:
        UserError: the side has failed.
    """
    process.stdin.write(f"{steps}\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise UserError(f"{' '.join(process.args[1:5])} has failed; what was wrong stands above")
    figures: dict[str, float] = json.loads(line)
    return figures


def row(name: str, measured: Measured) -> str:
    """Return a row of the table.

    The column `products` is the time of the matrix products as a percentage of a step of `ablate`.
    """
    ratios = measured.ratios
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    share = measured.median("products") / measured.median("ablate")
    milliseconds = " | ".join(f"{measured.median(s) * 1e3:.1f}" for s in ("by_hand", "ablate"))
    memory = " | ".join(f"{measured.grown_mib[side]:,.0f}" for side in ("by_hand", "ablate"))
    speed_up = f"{statistics.median(ratios):.2f} | {low:.2f} to {high:.2f}"
    return f"| {name} | {milliseconds} | {speed_up} | {share:.0%} | {memory} |"


@exit_on_user_error
def main() -> None:
    """Measure and print the selected rows."""
    rows = ROWS | ON_GPU
    given, rest = options(sys.argv[1:], {**DEFAULTS, "what": list(ROWS)}, [*rows])
    print(f"{HEAD}\n{RULE}", flush=True)
    for name in given["what"]:
        sizes, overrides = rows[name]
        how = {"turns": given["pairs"], "steps": given["steps"]}
        print(row(name, measure(sizes, [*overrides, *rest], **how)), flush=True)


if __name__ == "__main__":
    main()

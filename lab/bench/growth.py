"""Measure and draw how speed and memory of training depend on the sizes of model and data.

    python -m lab.bench.growth [what=[AXIS,...]] [seconds=10] [warm_up=3] [threads=2]

Axes: length, d_model, vocabulary, layers, corpus. Every point is measured in a separate process.
The first four axes train on random token ids, with the same number of tokens in every batch. The
axis corpus trains on a generated text. An earlier process builds the cache of this text. Replaces
the points of the selected axes in lab/bench/growth.json, and draws docs/images/growth.svg.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.bench.command import environment, exit_on_user_error, options, run
from lab.bench.growth_figure import draw
from lab.bench.record import machine

POINTS_FILE = Path(__file__).parent / "growth.json"
FIGURE = Path(__file__).parents[2] / "docs" / "images" / "growth.svg"
AXES = {
    "length": (64, 128, 256, 512, 1024, 2048, 4096),
    "d_model": (64, 128, 256, 512, 1024),
    "vocabulary": (1000, 4000, 16000, 64000, 256000),
    "layers": (1, 2, 4, 8, 16),
    "corpus": (1000, 10_000, 100_000, 1_000_000),
}
DEFAULTS = {"seconds": 10.0, "warm_up": 3.0, "threads": 2}


def measure(axis: str, values: dict[str, Any], rest: Sequence[str]) -> list[dict[str, Any]]:
    """Measure and return all points of an axis.

    Args:
        axis: a key of AXES.
        values: values of the options `seconds`, `warm_up` and `threads`.
        rest: overrides of `ablate`.
    """
    return [_point(axis, value, values, rest) for value in AXES[axis]]


def _point(axis: str, value: int, values: dict[str, Any], rest: Sequence[str]) -> dict[str, Any]:
    """Measure one point, and return its results.

    For the axis corpus, a first process builds the cache, and its memory is measured separately.
    """
    times = [str(values["seconds"]), str(values["warm_up"])]
    overrides = [f"threads={values['threads']}", *rest]
    env = environment(values["threads"], TOKENIZERS_PARALLELISM="true")
    command = ["-m", "lab.bench.growth_point", axis, str(value)]
    point: dict[str, Any] = {"axis": axis, "value": value}
    with tempfile.TemporaryDirectory() as folder:
        if axis == "corpus":
            point |= run([*command, "build", folder, *times, *overrides], env)
        point |= run([*command, "train", folder, *times, *overrides], env)
    print(json.dumps(point), flush=True)
    return {**point, "machine": f"{machine()}, {values['threads']} threads"}


def read() -> list[dict[str, Any]]:
    """Return the points stored in lab/bench/growth.json; [] if there is no file."""
    empty: list[dict[str, Any]] = []
    return json.loads(POINTS_FILE.read_text(encoding="utf-8")) if POINTS_FILE.exists() else empty


@exit_on_user_error
def main() -> None:
    """Measure the selected axes, store each as soon as it is measured, and draw the figure."""
    values, rest = options(sys.argv[1:], {**DEFAULTS, "what": list(AXES)}, list(AXES))
    points = read()
    for axis in values["what"]:
        points = [point for point in points if point["axis"] != axis] + measure(axis, values, rest)
        POINTS_FILE.write_text(json.dumps(points, indent=1) + "\n", encoding="utf-8")
    draw(points, FIGURE)


if __name__ == "__main__":
    main()

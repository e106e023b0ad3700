"""The style of all figures: colours, markers, sizes, and the format of the file.

Arms differ in colour (ablate.report.marks), in line style and in marker, so that figures can be
printed in grey. Text in a figure stays text in the SVG file.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ablate.report.marks import ARM_COLOURS, ARMS, INK, panels

CLIP_PATH = re.compile(r'(?<=<clipPath id=")\w+(?=")')
WIDTH = 6.0  # width of a figure in inches
GRID = "#bbbbbb"
HANDLE, LETTER = 0.55, 0.075  # inches: symbol of a legend entry, and one letter
LINE = 0.19  # height of a legend line in inches
SPAN = 1000  # widest logarithmic axis with ticks between powers of ten
TICKS = 6  # ticks per power of ten
FEW, SHORT = 4, 20  # largest number of arms named at the ends of their lines, and letters of a name
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "text.parse_math": False,  # names of arms and metrics are no formulas
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.alpha": 0.4,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "ablate",
}


@dataclass(frozen=True)
class Look:
    """The colour, the line style and the marker of an arm in all figures of a report."""

    colour: str
    marker: str
    line: str | tuple[int, tuple[float | int, ...]]


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of ablate's figures in a `with` block, whatever the user's matplotlib
    settings are.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def looks(arms: Sequence[str]) -> dict[str, Look]:
    """Return a style for each arm of a panel. Other panels use the same styles for other arms."""
    return {
        arm: Look(ARM_COLOURS[i % ARMS], MARKERS[i % ARMS], LINES[i % ARMS])
        for i, arm in enumerate(arms)
    }


def stack(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels above one another; `heights` are the panels' heights in
    inches.
    """
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    axes = figure.subplots(len(heights), squeeze=False, height_ratios=list(heights))
    return figure, list(axes[:, 0])


def rows_of_arms(
    arms: Sequence[str],
    height: float,
    columns: int = 1,
    *,
    sharey: bool = False,
    named: bool = False,
) -> tuple[Figure, list[tuple[SubFigure, list[Axes], list[str]]]]:
    """Return a figure with a row of panels for each group of arms, with room for a legend.

    Args:
        arms: all arms; a row has few enough for one panel.
        height: height of the panels in inches.
        columns: number of panels side by side.
        sharey: whether the panels of a row share their y-axis.
        named: whether lines are named at their ends instead of in a legend, if they are few.

    Returns:
        the figure; and for each row its part of the figure, its panels and its arms.
    """
    groups = panels(arms)
    legends = [0.0 if named and nameable(group) else legend_height(group) for group in groups]
    heights = [height + legend for legend in legends]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), squeeze=False, height_ratios=heights)[:, 0]
    axes = [list(part.subplots(1, columns, squeeze=False, sharey=sharey)[0]) for part in parts]
    return figure, list(zip(parts, axes, groups, strict=True))


def share_legend(figure: FigureBase, axes: Iterable[Axes], names: Sequence[str]) -> None:
    """Add a legend with the labels of all panels below the panels.

    `names` are the labels that may occur. The longest name determines the number of columns.
    """
    entries: dict[str, Artist] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    if not entries:
        return
    ncols = _columns(names)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=ncols)


def name_rows(
    axes: Axes,
    names: Sequence[str],
    label: str = "",
    ends: tuple[float, float] = (0.45, 0.55),
    grid: bool = False,
) -> None:
    """Write a name beside each row of a panel; row i has the y value -i.

    Args:
        axes: the panel.
        names: names of the rows, from the top.
        label: label of the y-axis.
        ends: where the axis ends: above the y value of a further row, and above the first row.
        grid: whether each row has a line of the grid.
    """
    axes.set_yticks([-row for row in range(len(names))], list(names))
    axes.set_ylim(-max(len(names), 1) + ends[0], ends[1])
    axes.set_ylabel(label)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=grid)


def nameable(names: Sequence[str]) -> bool:
    """Return whether there are few enough lines to write each name at the end of its line instead
    of in a legend.
    """
    return 1 < len(names) <= FEW and max(map(len, names)) <= SHORT


def name_lines(axes: Axes, ends: dict[str, float], apart: float = 0.065) -> None:
    """Write the name of each line beside the line's end, so that names do not overlap.

    Args:
        axes: the panel.
        ends: last y value of each line, by name.
        apart: smallest distance of two names, as a fraction of the height of the axis.
    """
    low, high = axes.get_ylim()
    gap, floor = apart * (high - low), low
    colours = {name: look.colour for name, look in looks(list(ends)).items()}
    for name, y in sorted(ends.items(), key=lambda end: end[1]):
        floor = max(y, floor)
        at = (1.01, floor)
        axes.annotate(
            name, at, xycoords=("axes fraction", "data"), va="center", color=colours[name]
        )
        floor += gap


def legend_height(names: Sequence[str]) -> float:
    """Return the height, in inches, of a legend with these names."""
    return LINE * -(-len(names) // _columns(names)) + LINE


def _columns(names: Sequence[str]) -> int:
    widest = HANDLE + LETTER * max(map(len, names), default=0)
    return max(1, int(WIDTH / widest))


def log_y(axes: Axes) -> None:
    """Use a logarithmic y-axis whose labels are plain numbers instead of powers of ten."""
    axes.set_yscale("log")
    axis = axes.yaxis
    low, high = axes.get_ylim()
    between = (1.0, 2.0, 5.0) if high < SPAN * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=between, numticks=len(between) * TICKS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def folded(label: str, width: int = 30) -> str:
    """Return a label, wrapped to lines of `width` letters.

    Words are cut only if a word is longer than 1.5 lines.
    """
    cut = any(len(word) > 1.5 * width for word in label.split())
    return "\n".join(wrap(label, width, break_long_words=cut)) or label


def svg(figure: Figure) -> str:
    """Return a figure as an SVG file that is always the same for the same data: no date, no random
    ids.
    """
    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with style():
        figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    # clip paths are named by a hash of sizes whose last digits differ from run to run
    for number, name in enumerate(dict.fromkeys(CLIP_PATH.findall(text))):
        text = text.replace(name, f"clip{number}")
    return text

"""The style of all figures: colours, sizes, shared parts, and the format of the file.

Arms differ in colour (ablate.report.marks) and in line style, so that figures can be printed in
grey. Text in a figure stays text in the SVG file.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ablate.report.marks import ARM_COLOURS, INK

CLIP_PATH = re.compile(r'(?<=<clipPath id=")\w+(?=")')
WIDTH = 6.5  # width of a figure in inches
LINE = 0.142  # height of a text line in inches
LABEL = 70  # largest number of letters in a line of the label of an x-axis
GRID = "#bbbbbb"
LINES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
COLOURED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
STYLE: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "text.parse_math": False,  # names of arms and metrics are no formulas
    "font.size": 9,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 8.5),
    "legend.frameon": False,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    "axes.prop_cycle": cycler(
        color=ARM_COLOURS * 6,
        linestyle=[LINES[(line + line // 6) % 6] for line in range(36)],  # no pair twice
    ),
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.alpha": 0.4,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    **dict.fromkeys(COLOURED, INK),
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "ablate",
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of ablate's figures in a `with` block, whatever the user's matplotlib
    settings are.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def add_legend(axes: Axes) -> None:
    """Name the lines of a panel to the right of it, if there are several."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        labels = [folded(name, 24) for name in names]
        axes.legend(handles, labels, loc="center left", bbox_to_anchor=(1, 0.5))


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write a name beside each row of a panel; row i has the y value -i."""
    axes.set_yticks([-row for row in range(len(names))], list(names))
    axes.set_ylim(0.5 - max(len(names), 1), 0.5)
    axes.tick_params(axis="y", length=0)


def draw_margin(axes: Axes, sides: Sequence[float]) -> None:
    """Draw a line at 0 and at each end of the margin, and shade the range between two ends."""
    axes.axvline(0, color=INK, linestyle="-", linewidth=0.9, zorder=1)
    for side in sides:
        axes.axvline(side, color=INK, linestyle="--", linewidth=0.9, zorder=1)
    if len(sides) == 2:
        axes.axvspan(*sides, color=GRID, alpha=0.3, linewidth=0)


def log_y(axes: Axes) -> None:
    """Use a logarithmic y-axis whose labels are plain numbers instead of powers of ten."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    between = (1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=between, numticks=6 * len(between)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


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

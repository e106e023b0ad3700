"""Draw, for every run of every arm, whether it finished, diverged or failed, by seed."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.report.draw.style import INK, folded, legend_height, share_legend, stack
from ablate.report.marks import panels

ROW = 0.34  # height of a row in inches
AROUND = 0.6
# marker and colour of each status
LOOKS = {
    "finished": ("o", "#009e73"),
    "collapsed": ("+", "#e69f00"),
    "diverged": ("x", "#d55e00"),
    "failed": ("s", INK),
}

Endings = dict[str, dict[int, str]]  # status of each run, by arm and seed


def draw_outcomes(endings: Endings) -> Figure:
    """Draw a mark for the status of each run; a hollow mark is a run that failed and has no
    result.
    """
    groups = panels(list(endings))
    heights = [AROUND + ROW * len(group) for group in groups]
    heights[-1] += legend_height([*LOOKS])
    figure, axes = stack(heights)
    for panel, arms in zip(axes, groups, strict=True):
        _draw_panel(panel, {arm: endings[arm] for arm in arms})
    share_legend(figure, axes, [*LOOKS])
    return figure


def _draw_panel(axes: Axes, endings: Endings) -> None:
    seeds = sorted({seed for arm in endings.values() for seed in arm})
    for ending, (marker, colour) in LOOKS.items():
        places = [
            (seeds.index(seed), -row)
            for row, arm in enumerate(endings.values())
            for seed, status in arm.items()
            if status == ending
        ]
        inside = "none" if ending == "failed" else colour
        for i, (x, y) in enumerate(places):
            axes.plot(
                [x], [y], marker, color=colour, markerfacecolor=inside, markersize=7,
                markeredgewidth=1.6, label=ending if i == 0 else None,
            )  # fmt: skip
    axes.set_yticks([-row for row in range(len(endings))], [folded(arm) for arm in endings])
    axes.set_ylim(-len(endings) + 0.5, 0.5)
    axes.set_xticks(range(len(seeds)), [str(seed) for seed in seeds])
    axes.set_ylabel("arm")
    axes.set_xlabel("seed")
    axes.grid(visible=False)

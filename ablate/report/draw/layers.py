"""Draw the gradient norm in every layer, at the first or the last step."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.report.draw.style import legend_height, log_y, looks, rows, share_legend
from ablate.report.marks import panels

HEIGHT = 2.2  # height of a row of panels in inches
ASIDE = 0.5  # width of the space for the marks of all arms; the distance of two layers is 1

# for each arm and layer number, the norms of all seeds
Norms = dict[str, dict[int, list[float]]]


def draw_layers(when: str, stacks: dict[str, Norms]) -> Figure:
    """Draw a panel for each stack (encoder, decoder) with the gradient norm in each layer.

    Each seed has a mark, and a line goes through the medians of each arm.

    Args:
        when: first | last, the training step.
        stacks: for each stack, the norms of all seeds by arm and layer.
    """
    groups = panels(list(dict.fromkeys(arm for norms in stacks.values() for arm in norms)))
    figure, parts = rows([HEIGHT + legend_height(arms) for arms in groups])
    for row, arms in zip(parts, groups, strict=True):
        axes = row.subplots(1, len(stacks), squeeze=False, sharey=True)[0]
        for panel, (stack, norms) in zip(axes, stacks.items(), strict=True):
            _draw_panel(panel, arms, norms)
            panel.set_xlabel(f"{stack} layer (number from the input)")
            panel.set_ylabel(f"gradient norm,\n{when} step (L2)")
        share_legend(row, axes, arms)
    return figure


def _draw_panel(axes: Axes, arms: Sequence[str], norms: Norms) -> None:
    for number, (arm, look) in enumerate(looks(arms).items()):
        if arm not in norms:
            continue
        aside = ASIDE * ((number + 0.5) / len(arms) - 0.5)  # so that no arm hides another
        layers = norms[arm]
        medians = [float(np.median(seeds)) for seeds in layers.values()]
        axes.plot(list(layers), medians, color=look.colour, linestyle=look.line)
        points = [(layer + aside, norm) for layer, seeds in layers.items() for norm in seeds]
        axes.plot(
            *zip(*points, strict=True), look.marker, color=look.colour, markersize=4,
            alpha=0.7, label=arm,
        )  # fmt: skip
    log_y(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))

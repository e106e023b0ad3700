"""Write the tables and the figure of docs/explanation/moderation.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lab.calibration.moderation import (
    ALIKE,
    ASIDE,
    METHODS,
    OUTLIERS,
    SKEWED_OUTLIERS,
    Rates,
    Residuals,
    Study,
    false_rates,
    limit,
    power,
    resampled,
    resampled_arms,
)
from lab.calibration.tables import Cells

COMPARED = (1, 3, 8, 12, 38)  # comparisons for which the power is shown
OURS = "rule 2"
Powers = dict[tuple[str, int, int], float]  # by method, comparisons and seeds


def powers(sweeps: int, seeds: Sequence[int]) -> Powers:
    """Return the power of every method, by number of comparisons and of seeds."""
    return {
        (name, k, n): power(method, k + 1, n, sweeps)
        for name, method in METHODS.items()
        for k in COMPARED
        for n in seeds
    }


def tables(
    sweeps: int,
    seeds: Sequence[int],
    comparisons: Sequence[int],
    power: Powers,
    residuals: Sequence[Residuals],
) -> dict[str, list[list[Cells]]]:
    """Return the tables of each section of the page."""
    committed = {
        "residuals of all arms of a study": resampled(residuals),
        "each arm with its own residuals": resampled_arms(residuals),
    }
    groups: dict[str, Mapping[str, Study]] = {
        "Shapes of calibration.md": ALIKE,
        "Shapes kept aside": ASIDE,
        "One outlying arm": OUTLIERS | SKEWED_OUTLIERS,
        "Residuals of committed runs": committed,
    }
    return {"Power": [_power(power, seeds)]} | {
        title: [_levels(studies, sweeps, seeds, k) for k in comparisons]
        for title, studies in groups.items()
    }


def _power(power: Powers, seeds: Sequence[int]) -> list[Cells]:
    table = [["comparisons, method", *(f"{n} seeds" for n in seeds)]]
    for k in COMPARED:
        for name in METHODS:
            cells = [_percent(power[name, k, n]) for n in seeds]
            table.append([f"{k}, {name}", *cells])
    return [*table, ["known variance", *(_percent(limit(n)) for n in seeds)]]


def _levels(
    studies: Mapping[str, Study], sweeps: int, seeds: Sequence[int], comparisons: int
) -> list[Cells]:
    heads = (f"{name}, {n} seeds" for n in seeds for name in SHOWN)
    table = [[f"noise, {comparisons} comparisons", *heads]]
    for name, study in studies.items():
        cells = []
        for n in seeds:
            rng = np.random.default_rng([n, comparisons, len(name)])
            scores = study(sweeps, comparisons + 1, n, rng)
            cells += [_cell(false_rates(METHODS[method], scores)) for method in SHOWN]
        table.append([name, *cells])
    return table


SHOWN = ("rule 1", OURS)


def _cell(rates: Rates) -> str:
    return " / ".join(map(_percent, rates))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def draw_figure(power: Powers, path: Path) -> None:
    """Draw the power of rule 2, rule 1, the t test and the limit against the number of seeds.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    seeds = sorted({n for _, _, n in power})
    curves = {"known variance (limit)": [limit(n) for n in seeds]}
    for k in reversed(COMPARED[1:]):
        curves[f"rule 2, {k} comparisons"] = [power[OURS, k, n] for n in seeds]
    curves["t"] = [power["t", 1, n] for n in seeds]
    curves["rule 1, and rule 2 for a single comparison"] = [power["rule 1", 1, n] for n in seeds]
    with mpl.rc_context({"svg.hashsalt": "ablate", "font.size": 9}):
        figure = Figure(figsize=(7.5, 4.0), layout="constrained")
        axes = figure.subplots()
        for name, values in curves.items():
            style = {"t": "--", "known variance (limit)": ":"}.get(name, "-")
            axes.plot(seeds, [100 * x for x in values], style, marker="o", ms=3, label=name)
        axes.set(xscale="log", xlabel="seeds", ylabel="power (%)", ylim=(0, 100))
        axes.set_xticks(seeds, [str(n) for n in seeds])
        axes.minorticks_off()
        figure.legend(loc="outside right upper", frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})

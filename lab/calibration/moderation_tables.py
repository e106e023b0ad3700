"""Write the tables and the figure of docs/explanation/moderation.md."""

from collections.abc import Mapping, Sequence
from itertools import product
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
    correlated,
    false_rates,
    limit,
    power,
    resampled,
    resampled_arms,
    with_further_runs,
)
from lab.calibration.shapes import BEYOND, PROMISED
from lab.calibration.tables import Cells

COMPARED = (1, 3, 8, 12, 38)  # comparisons for which the power is shown
OURS = "rule 2"
SHARING, MOST_SEEDS = 38, 10  # comparisons, and seeds of a variant, of a larger baseline
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
    groups: dict[str, Mapping[str, Study]] = {
        f"largest of the {len(PROMISED)} distributions": {x: ALIKE[x] for x in PROMISED},
        f"largest of the {len(BEYOND)} without promise": {x: ALIKE[x] for x in BEYOND},
        f"largest of {len(ASIDE)} other distributions": ASIDE,
        "one unskewed arm with another variance": OUTLIERS,
        "one skewed arm among normal arms": SKEWED_OUTLIERS,
        "residuals of committed runs": {
            "residuals of all arms of a study": resampled(residuals),
            "each arm with its own residuals": resampled_arms(residuals),
        },
    }
    false = [["noise", "rule, comparisons", *(f"{n} seeds" for n in seeds)]]
    for name, studies in groups.items():
        rows: dict[str, list[list[Rates]]] = {"1": [[] for _ in seeds]}
        for k in comparisons:
            rows[f"2, {k}"] = []
            for place, n in enumerate(seeds):
                both = [_rates(shape, study, sweeps, n, k) for shape, study in studies.items()]
                rows["1"][place] += [before for before, _ in both]
                rows[f"2, {k}"].append([now for _, now in both])
        first = [name, *[""] * len(comparisons)]
        false += [
            [label, rule, *map(_worst, cells)]
            for label, (rule, cells) in zip(first, rows.items(), strict=True)
        ]
    further = {
        "normal, correlation 0": correlated(0.0),
        "normal, correlation 0.5": correlated(0.5),
        "committed runs, each arm with its own residuals": resampled_arms(residuals),
        **{
            name: ALIKE[name]
            for name in ("exponential, variance x6", "lognormal (1.0), variance x6")
        },
    }
    return {
        "Power": [_power(power, seeds)],
        "False verdicts": [false],
        "More seeds for the baseline": [_further(further, sweeps, seeds)],
    }


def _further(studies: Mapping[str, Study], sweeps: int, seeds: Sequence[int]) -> list[Cells]:
    """Return the rates of false verdicts and the power if the baseline has more seeds, by Dunnett's
    rule.
    """
    few, arms = [n for n in seeds if n <= MOST_SEEDS], SHARING + 1
    table = [["noise", "baseline", *(f"{n} seeds" for n in few)]]
    for name, study in studies.items():
        for baseline, drawn in (("equal", study), ("more", with_further_runs(study))):
            cells = []
            for n in few:
                scores = drawn(sweeps, arms, n, np.random.default_rng([n, SHARING, len(name)]))
                cells.append(_worst([false_rates(METHODS[OURS], scores)]))
            table.append([name, baseline, *cells])
    for rho, further in product((0.0, 0.5), (False, True)):
        shares = (power(METHODS[OURS], arms, n, sweeps, rho, further=further) for n in few)
        row = [f"power, correlation {rho:g}", "more" if further else "equal"]
        table.append([*row, *map(_percent, shares)])
    return table


def _rates(shape: str, study: Study, sweeps: int, seeds: int, k: int) -> tuple[Rates, Rates]:
    """Return the rates of false verdicts of both rules in studies of k comparisons."""
    scores = study(sweeps, k + 1, seeds, np.random.default_rng([seeds, k, len(shape)]))
    return false_rates(METHODS["rule 1"], scores), false_rates(METHODS[OURS], scores)


def _worst(rates: Sequence[Rates]) -> str:
    """Return the largest rate of each kind of test."""
    return " / ".join(_percent(max(kind)) for kind in zip(*rates, strict=True))


def _power(power: Powers, seeds: Sequence[int]) -> list[Cells]:
    rows = {name: [power[name, 1, n] for n in seeds] for name in ("t", "rule 1")}
    rows |= {f"{OURS}, {k} comparisons": [power[OURS, k, n] for n in seeds] for k in COMPARED[1:]}
    rows["known variance"] = [limit(n) for n in seeds]
    head = ["method", *(f"{n} seeds" for n in seeds)]
    return [head, *([name, *map(_percent, shares)] for name, shares in rows.items())]


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

"""Compare tests of a mean difference at 10 seeds: their false verdicts against their power.

The nominal level of every test is varied, which gives a curve. Its x-axis is the largest proportion
of false one-sided verdicts over the distributions of noise in `PROMISED`. Its y-axis is the power
for two arms with equal normal noise. The true effect is chosen so that the t test has a power of
80 % at the level 2.5 %.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from lab.calibration.methods import METHODS, Method
from lab.calibration.shapes import PROMISED

SEEDS = 10
POWER = 0.8  # of the t test, at the nominal level
NOMINAL, ALLOWED = 0.025, 0.04
ALPHAS = np.geomspace(0.0005, 0.2, 80)
Shares = Float[np.ndarray, " alphas"]


class Curve(NamedTuple):
    """The curve of a test, with its point at the nominal level.

    Attributes:
        levels: largest proportion of false verdicts over all noise, at each level of ALPHAS.
        powers: power at each level of ALPHAS.
        level: largest proportion of false verdicts at the level NOMINAL.
        power: power at the level NOMINAL.
    """

    levels: Shares
    powers: Shares
    level: float
    power: float

    @property
    def power_allowed(self) -> float:
        """The power at the nominal level whose largest proportion of false verdicts is ALLOWED."""
        return float(np.interp(ALLOWED, self.levels, self.powers))


def curves(sweeps: int) -> dict[str, Curve]:
    """Return the curve of every test, by name of the test."""
    return {name: _curve(method, sweeps) for name, method in METHODS.items()}


def _curve(method: Method, sweeps: int) -> Curve:
    shape = (sweeps, SEEDS)
    false = []
    for name, draw in PROMISED.items():
        plus, minus = draw(shape, np.random.default_rng([SEEDS, len(name)]))
        false += [method(plus, minus), method(minus, plus)]
    plus, minus = PROMISED["normal"](shape, np.random.default_rng(SEEDS))
    true = method(plus + effect(), minus)

    def worst(alpha: float) -> float:
        return max(float((p <= alpha).mean()) for p in false)

    def power(alpha: float) -> float:
        return float((true <= alpha).mean())

    levels, powers = (np.array([*map(of, ALPHAS)]) for of in (worst, power))
    return Curve(levels, powers, worst(NOMINAL), power(NOMINAL))


def effect() -> float:
    """Return the true effect for which the t test has the power POWER, for arms with variance 1."""
    quantile = stats.t.isf(NOMINAL, SEEDS - 1)

    def missing(shift: float) -> float:
        return float(stats.nct.sf(quantile, SEEDS - 1, shift)) - POWER

    return float(optimize.brentq(missing, 0.0, 20.0)) * (2 / SEEDS) ** 0.5


def draw_figure(curves: dict[str, Curve], path: Path) -> None:
    """Draw the curves into a file, with markers at the nominal level 2.5 %.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "ablate", "font.size": 9}):
        figure = Figure(figsize=(7.5, 4.5), layout="constrained")
        axes = figure.subplots()
        for number, (name, curve) in enumerate(curves.items()):
            last = number == len(curves) - 1
            colour, width = ("black", 2.2) if last else (f"C{number % 10}", 1.0)
            axes.plot(100 * curve.levels, 100 * curve.powers, label=name, color=colour, lw=width)
            axes.plot(100 * curve.level, 100 * curve.power, "o", color=colour)
        axes.axvline(100 * ALLOWED, color="#888888", ls=":", label="allowed")
        axes.set(xlim=(0, 14), ylim=(20, 95), ylabel="power, normal noise (%)")
        axes.set_xlabel("largest share of false verdicts over the shapes of noise (%)")
        figure.legend(loc="outside right upper", frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})

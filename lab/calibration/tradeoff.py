"""The price of a level that holds: methods by their worst level and their power, at 10 seeds.

Of every method the nominal level is moved. That gives a curve: across, the largest share of false
one-sided verdicts over all shapes of noise for which the level is promised; upwards, the power
with two normal arms that vary alike, where t at 2.5 % has 80 %.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from lab.calibration.methods import METHODS, Method
from lab.calibration.shapes import PROMISED

SEEDS = 10
POWER = 0.8  # of t, at the nominal level
NOMINAL, ALLOWED = 0.025, 0.04
ALPHAS = np.geomspace(0.0005, 0.2, 80)
Shares = Float[np.ndarray, " alphas"]


class Curve(NamedTuple):
    """Worst level and power of a method at each of ALPHAS, and both at the nominal level."""

    levels: Shares
    powers: Shares
    level: float
    power: float

    @property
    def power_allowed(self) -> float:
        """Power where the worst level is what is allowed."""
        return float(np.interp(ALLOWED, self.levels, self.powers))


def curves(sweeps: int) -> dict[str, Curve]:
    """Return the curve of every method."""
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
    """Return the effect that t shows with its power, where both arms have variance 1."""
    quantile = stats.t.isf(NOMINAL, SEEDS - 1)

    def missing(shift: float) -> float:
        return float(stats.nct.sf(quantile, SEEDS - 1, shift)) - POWER

    return float(optimize.brentq(missing, 0.0, 20.0)) * (2 / SEEDS) ** 0.5


def draw_figure(curves: dict[str, Curve], path: Path) -> None:
    """Draw the curves; a marker stands where the nominal level is 2.5 %.

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

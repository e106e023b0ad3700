"""Bound the power that any rule can have for a single comparison whose level is kept under skewed
noise.

Let f0 be the density of two arms without an effect, whose noise is lognormal in the treatment, with
six times the variance of the normal baseline, and f1 the density of two normal arms that differ by
one standard deviation of a paired difference. The location is integrated out of both, and so is the
scale, unless it is known, as it nearly is beside many normal arms.

Equation: power <= a level + E1[max(0, 1 - a f0 / f1)] for every a >= 0.
Source: Neyman and Pearson 1933; Lehmann and Romano 2005, Testing Statistical Hypotheses, chapters 6
(invariance) and 8.5 (Hunt and Stein: this loses nothing for rules that must hold at every location
and scale).
"""

import argparse

import numpy as np
from jaxtyping import Float

from ablate.cli.parser import Parser, several, whole
from lab.calibration.shapes import RATIO
from lab.command import main

FIRST = "drawing runs of two arms"
LEVELS = {3: 0.05}  # largest level that the rule may have, by the number of seeds; else OTHERWISE
OTHERWISE = 0.04
LOG_DEVIATION, CORRELATION = 0.65, 0.2
SHIFTS = np.linspace(-5, 5, 64)  # of the location, in scales
LOG_SCALES = np.linspace(-4.0, 2.0, 90)
CHUNK = 50

Arms = Float[np.ndarray, "draws seeds"]


def add_arguments(parser: Parser) -> None:
    """Declare the numbers of simulated studies and of seeds."""
    parser.add_key("sweeps", "studies of each number of seeds", whole(100), 8000)
    parser.add_key("seeds", "seeds per arm", several(whole(3)), [3, 5, 10])


def run(arguments: argparse.Namespace) -> None:
    """Print the bounds for each number of seeds, with their standard errors."""
    rng = np.random.default_rng(1)
    for seeds in arguments.seeds:
        baseline = rng.standard_normal((arguments.sweeps, seeds))
        other = rng.standard_normal(baseline.shape)
        treatment = CORRELATION * baseline + (1 - CORRELATION**2) ** 0.5 * other
        treatment += (2 - 2 * CORRELATION) ** 0.5
        parts = np.array_split(np.stack((treatment, baseline), 1), len(baseline) // CHUNK)
        level = LEVELS.get(seeds, OTHERWISE)
        for known, text in ((False, "two arms alone"), (True, "beside many normal arms")):
            logs = [log_ratio(part[:, 0], part[:, 1], known=known) for part in parts]
            bound, error = power_at_most(np.exp(np.concatenate(logs)), level)
            print(f"{seeds} seeds, level {level:.1%}, {text}: at most {bound:.1%} ± {error:.1%}")


def power_at_most(ratio: Float[np.ndarray, " draws"], level: float) -> tuple[float, float]:
    """Return the bound and its standard error, from f0 / f1 of runs with the effect.

    One half of the runs chooses the factor a, and the bound is that of the other half.
    """
    chosen, rest = np.array_split(ratio, 2)
    tried = np.linspace(0, 20, 2001)
    factor = min(tried, key=lambda a: a * level + np.maximum(0, 1 - a * chosen).mean())
    power = np.maximum(0, 1 - factor * rest)
    return factor * level + float(power.mean()), float(power.std()) / len(rest) ** 0.5


def log_ratio(treatment: Arms, baseline: Arms, *, known: bool) -> Float[np.ndarray, " draws"]:
    """Return log(f0 / f1) of the runs of two arms; if the scale is `known`, it is 1."""
    both = np.concatenate((treatment, baseline), 1)
    middle = baseline.mean(1, keepdims=True)
    width = 1.0 if known else both.std(1, keepdims=True)
    log_scales = np.zeros(1) if known else LOG_SCALES
    t, b = ((x - middle) / width for x in (treatment, baseline))
    scale = np.exp(log_scales)[None, :, None, None]
    t, b = (x[:, None, None, :] / scale - SHIFTS[:, None] for x in (t, b))
    measure = log_scales[:, None] * (1 - both.shape[1])
    null, alternative = (_log_integral(f(t, b) + measure) for f in (skewed, normal))
    return null - alternative


def skewed(t: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the log density of a lognormal treatment and a normal baseline, up to a constant that
    `normal` leaves out, too.
    """
    variance = LOG_DEVIATION**2
    mean, deviation = np.exp(variance / 2), (np.expm1(variance) * np.exp(variance)) ** 0.5
    above = mean - deviation * t / RATIO
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(above > 0, np.log(above), -np.inf)
        density = -(log**2) / (2 * variance) - log + np.log(deviation / LOG_DEVIATION / RATIO)
    density = np.where(above > 0, density, -np.inf)
    return np.asarray(density.sum(-1) - (b**2).sum(-1) / 2)


def normal(t: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the log density of two correlated normal arms with the effect."""
    left = 1 - CORRELATION**2
    rest = t - (2 - 2 * CORRELATION) ** 0.5 - CORRELATION * b
    return np.asarray(-(rest**2 / left + b**2 + np.log(left)).sum(-1) / 2)


def _log_integral(values: Float[np.ndarray, "draws scales shifts"]) -> Float[np.ndarray, " draws"]:
    top = values.max((1, 2))
    return np.asarray(top + np.log(np.exp(values - top[:, None, None]).sum((1, 2))))


if __name__ == "__main__":
    main("lab.bound")

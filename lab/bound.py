"""Bound the power that any rule can have for a single comparison whose level is kept under skewed
noise.

Let f0 be the density of two arms without an effect, whose noise is lognormal in the treatment, with
six times the variance of the normal baseline, and f1 the density of two normal arms that differ by
one standard deviation of a paired difference. Location and scale are integrated out of both.

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
    """Print the bound for each number of seeds, with its standard error.

    The factor a is chosen by one half of the studies, and the bound is that of the other half.
    """
    rng = np.random.default_rng(1)
    for seeds in arguments.seeds:
        baseline = rng.standard_normal((arguments.sweeps, seeds))
        other = rng.standard_normal(baseline.shape)
        treatment = CORRELATION * baseline + (1 - CORRELATION**2) ** 0.5 * other
        treatment += (2 - 2 * CORRELATION) ** 0.5
        parts = zip(
            *(np.array_split(x, len(x) // CHUNK) for x in (treatment, baseline)), strict=True
        )
        ratio = np.exp(np.concatenate([log_ratio(*part) for part in parts]))
        level = LEVELS.get(seeds, OTHERWISE)
        chosen, rest = np.array_split(ratio, 2)
        tried = np.linspace(0, 20, 2001)
        factor = min(tried, key=lambda a: a * level + np.maximum(0, 1 - a * chosen).mean())
        power = np.maximum(0, 1 - factor * rest)
        bound, error = factor * level + power.mean(), power.std() / len(rest) ** 0.5
        print(f"{seeds} seeds, level {level:.1%}: power at most {bound:.1%} ± {error:.1%}")


def log_ratio(treatment: Arms, baseline: Arms) -> Float[np.ndarray, " draws"]:
    """Return log(f0 / f1) of the runs of two arms."""
    both = np.concatenate((treatment, baseline), 1)
    middle, width = baseline.mean(1, keepdims=True), both.std(1, keepdims=True)
    t, b = ((x - middle) / width for x in (treatment, baseline))
    scale = np.exp(LOG_SCALES)[None, :, None, None]
    t, b = (x[:, None, None, :] / scale - SHIFTS[:, None] for x in (t, b))
    measure = LOG_SCALES[:, None] * (1 - both.shape[1])
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

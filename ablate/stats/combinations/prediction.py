"""Predict the gain of the best recipe from the effects of its changes.

The best recipe takes the level with the best effect of each factor. The sum of these effects is too
good, because the levels were chosen by the same estimates. The prediction uses two copies of each
estimate with independent errors, drawn from the estimate: one copy chooses the levels, and the
other has their effects.
Equation: with effects b, their covariance V and w ~ N(0, V), the copies are b + c w and b - w / c.
The prediction is the mean over w of the sum of b - w / c over the levels that b + c w chooses.
Its standard error is the delta method's, with the slope of the prediction in each effect.
Source: Rasines and Young 2023, Biometrika 110, 597 (splitting by added noise); Leiner et al. 2023,
arXiv:2112.11079 (data fission); Efron 2014, JASA 109, 991 (standard errors after selection).
Differs: the mean over many draws replaces a single draw.
Expect: if the gains add up, fresh runs of the best recipe reach the predicted gain. The prediction
is unbiased for recipes that are chosen with 1 + c^2 times the variance, which are slightly worse.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ablate.stats.combinations.effects import Change

LARGEST = 5
DRAWS = 2000
NOISE = 0.5**0.5  # c


@dataclass(frozen=True)
class Prediction:
    """The best recipe with predicted differences; negative differences are gains.

    Args:
        changes: the changes of the best recipe, with the largest predicted gain first.
        effects: predicted difference of each change, also when only this change is undone.
        errors: standard error of each of `effects`.
        effect: predicted difference of the best recipe from the recipe of all first levels.
        error: standard error of `effect`.
        rest_errors: standard error of `effect` minus each of `effects`.
    """

    changes: tuple[Change, ...]
    effects: tuple[float, ...]
    errors: tuple[float, ...]
    effect: float
    error: float
    rest_errors: tuple[float, ...]


def predict(
    changes: list[Change],
    effects: Float[np.ndarray, " changes"],
    deviations: Float[np.ndarray, "changes recipes"],
) -> Prediction:
    """Return the best recipe and its predicted difference; lower scores are better.

    Args:
        changes: the changes whose effects were estimated.
        effects: their effects; a change without an estimate (NaN) is not used.
        deviations: deviations of the effects, as in `Estimates`.
    """
    estimated = np.isfinite(effects) & np.isfinite(deviations).all(1)
    names = [change for change, usable in zip(changes, estimated, strict=True) if usable]
    effects, deviations = effects[estimated, None], deviations[estimated]
    rng = np.random.default_rng(0)
    noise = deviations @ rng.standard_normal((deviations.shape[1], DRAWS))
    predicted, slopes, best = (np.zeros(len(names)) for _ in range(3))
    for factor in {change.factor for change in names}:
        places = np.flatnonzero([change.factor == factor for change in names])
        predicted[places], slopes[places] = _of_factor(effects[places], noise[places])
        best[places] = best_level(effects[places])[:, 0]
    chosen = np.flatnonzero(best)
    chosen = chosen[np.argsort(predicted[chosen])]
    weighted = slopes[:, None] * deviations
    return Prediction(
        tuple(names[k] for k in chosen),
        tuple(predicted[chosen].tolist()),
        tuple(_error(deviations[[k]]) for k in chosen),
        float(predicted.sum()),
        _error(weighted),
        tuple(_error(np.delete(weighted, k, 0)) for k in chosen),
    )


def _of_factor(
    effects: Float[np.ndarray, "changes 1"], noise: Float[np.ndarray, "changes draws"]
) -> tuple[Float[np.ndarray, " changes"], Float[np.ndarray, " changes"]]:
    """Return what each change of a factor contributes to the prediction, and the slope of their sum
    in the effect of each change.
    """

    def contributions(effects: Float[np.ndarray, "changes 1"]) -> Float[np.ndarray, " changes"]:
        copies = (effects - noise / NOISE) * best_level(effects + NOISE * noise)
        return np.asarray(copies.mean(1))

    steps = np.diag(noise.std(1) / 2 + 1e-12)[:, :, None]
    ends = ((contributions(effects + x).sum(), contributions(effects - x).sum()) for x in steps)
    slopes = [(high - low) / (2 * x.sum()) for (high, low), x in zip(ends, steps, strict=True)]
    return contributions(effects), np.array(slopes)


def best_level(effects: Float[np.ndarray, "changes draws"]) -> Bool[np.ndarray, "changes draws"]:
    """Return which of the changes of a factor is best in each draw; none if the first level is."""
    best = np.zeros(effects.shape, dtype=bool)
    best[effects.argmin(0), np.arange(effects.shape[1])] = effects.min(0) < 0
    return best


def _error(deviations: Float[np.ndarray, "changes recipes"]) -> float:
    """Return the standard error of the sum of some effects."""
    return math.sqrt(float((deviations.sum(0) ** 2).sum()))

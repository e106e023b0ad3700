"""Predict the gain of the best recipe from the effects of its changes.

The best recipe takes the level with the best shrunk effect of each factor. Its predicted gain is
the sum of these effects. Because the best levels were chosen by their estimates, the estimates are
too good, and they are shrunk by their reliability.
Equation: with effects b and their covariance V, the shrunk effects are A (A + V)^-1 b. Their
covariance is A - A (A + V)^-1 A. A is diagonal and holds the variance of true effects.
Source: Efron and Morris 1973, JASA 68, 117 (empirical Bayes); Kelley 1927 (reliability).
Expect: if the gains add up, fresh runs of the best recipe reach the predicted gain.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ablate.stats.combinations.effects import Change

LARGEST = 5


@dataclass(frozen=True)
class Prediction:
    """The best recipe with predicted differences; negative differences are gains.

    Args:
        changes: the changes of the best recipe, with the largest predicted gain first.
        effects: predicted difference of each change, also when only this change is undone.
        errors: standard error of each of `effects`.
        effect: predicted difference of the best recipe from the recipe of all first levels.
        error: standard error of `effect`.
    """

    changes: tuple[Change, ...]
    effects: tuple[float, ...]
    errors: tuple[float, ...]
    effect: float
    error: float


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
    shrunk, covariance = shrink(effects[estimated], deviations[estimated] @ deviations[estimated].T)
    best: dict[int, int] = {}
    for k in np.argsort(shrunk):
        if shrunk[k] < 0:
            best.setdefault(names[k].factor, int(k))
    chosen = list(best.values())
    return Prediction(
        tuple(names[k] for k in chosen),
        tuple(shrunk[chosen].tolist()),
        tuple(np.sqrt(np.diag(covariance)[chosen]).tolist()),
        float(shrunk[chosen].sum()),
        math.sqrt(float(covariance[np.ix_(chosen, chosen)].sum())),
    )


def shrink(
    effects: Float[np.ndarray, " changes"], covariance: Float[np.ndarray, "changes changes"]
) -> tuple[Float[np.ndarray, " changes"], Float[np.ndarray, "changes changes"]]:
    """Return the effects shrunk towards 0 by their reliability, and the covariance of what they
    leave unknown.
    """
    variance = max(0.0, float((effects**2 - np.diag(covariance)).mean())) if len(effects) else 0.0
    prior = variance * np.eye(len(effects))
    kept = prior @ np.linalg.pinv(prior + covariance)
    return kept @ effects, prior - kept @ prior

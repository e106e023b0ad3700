"""Compute intervals, p-values and power from arrays of numbers, with numpy and scipy only.

Numbers that only rounding errors separate are equal. In floating-point arithmetic, 0.4 - 0.1 is
larger than 0.3, and 0.3 - 0 is not. Every comparison of an effect with a margin, a tolerance or 0,
and of a p-value with alpha, uses `difference`, `above` or `at_most`.

Holm's correction covers the claims of a study. Each claim has two tests, one for the decision
"supported" and one for "refuted". At most one of these two decisions can be wrong. So each claim
counts as a single test, whose p-value is the smaller of the two (Shaffer 1980, Annals of Statistics
8, 1342: Holm's procedure with directional decisions). Each p-value must already be on the scale of
the claim's alpha, that is, doubled if its test has only half of alpha. For independent claims, the
probability that any decision of the study is wrong is at most alpha. For claims that share an arm,
simulations show the error rate (docs/explanation/calibration.md).
Source: Holm 1979, A simple sequentially rejective multiple test procedure.
"""

import math
from collections.abc import Sequence

TIED = 1e-12  # relative difference up to which numbers are equal
Tests = dict[str, float]  # p-value of the test for each decision, by name of the decision


def difference(x: float, y: float, scale: float = 0.0) -> float:
    """Return x - y, or 0 if only rounding errors separate x and y.

    `scale` is the largest number from which x and y were computed, if it is larger than they are.
    """
    return 0.0 if math.isclose(x, y, rel_tol=TIED, abs_tol=TIED * scale) else float(x - y)


def above(x: float, y: float, scale: float = 0.0) -> bool:
    """Return whether x is larger than y by more than rounding errors; False if either is NaN.

    `scale` is the largest number from which x and y were computed, if it is larger than they are.
    """
    return difference(x, y, scale) > 0


def at_most(x: float, y: float, scale: float = 0.0) -> bool:
    """Return whether x is below y, or equal up to rounding errors; False if either is NaN.

    `scale` is the largest number from which x and y were computed, if it is larger than they are.
    """
    return difference(x, y, scale) <= 0


def adjust(tests: Sequence[Tests], alphas: Sequence[float]) -> list[Tests]:
    """Return p-values adjusted by Holm's procedure, to be compared with the alpha of each claim.

    Claims are ranked by the smaller of their two p-values divided by their alpha, so that alphas
    may differ. The family-wise error rate is then at most the largest alpha.

    Args:
        tests: p-values of each claim, by name of the decision; {} for a claim without a test, which
            does not count.
        alphas: significance level of each claim.
    """
    ratios = {k: min(p.values()) / alphas[k] for k, p in enumerate(tests) if p}
    order = sorted(ratios, key=ratios.__getitem__)
    adjusted: list[Tests] = [{} for _ in tests]
    reached = 0.0  # in units of alpha: adjusted p-values must not decrease along the ranks
    for rank, k in enumerate(order):
        left = len(order) - rank
        adjusted[k] = {
            key: min(1.0, max(p * left, reached * alphas[k])) for key, p in tests[k].items()
        }
        reached = min(adjusted[k].values()) / alphas[k]
    return adjusted

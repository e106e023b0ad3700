"""How often verdicts are false where noise is skewed, in clusters or long-tailed: measured shares.

`python -m lab.robustness` measures them, and docs/calibration.md has every shape of noise; here is
the largest share over all shapes. Seeds that miss a long tail look harmless, so every verdict on a
mean states the share, and the reason names what makes it likely.
"""

from itertools import pairwise

import numpy as np

from ablate.stats.skew import Seeds

ENOUGH = 10  # seeds from which on the nominal level holds within 1.5 points
APART = 0.5  # share of the range that a gap between two clusters takes at least
FEW, SKEWED, CLUSTERED = "few seeds", "visible skewness", "two clusters"
HIDDEN = "a tail too long for so few seeds to show"
# By number of seeds: one-sided tests (nominal 0.025), and equivalence (nominal 0.05).
MEASURED = {
    3: (0.057, 0.095),
    5: (0.065, 0.113),
    7: (0.067, 0.102),
    10: (0.060, 0.097),
    20: (0.051, 0.074),
}


def false_rate(seeds: int, *, equivalence: bool) -> float:
    """Return the largest measured share of false verdicts on so many seeds.

    Between two measured numbers of seeds the larger share of both counts.
    """
    below = max((n for n in MEASURED if n <= seeds), default=min(MEASURED))
    above = min((n for n in MEASURED if n >= seeds), default=max(MEASURED))
    return max(MEASURED[below][equivalence], MEASURED[above][equivalence])


def in_clusters(values: Seeds) -> bool:
    """Return whether a gap in the middle, two seeds or more on either side, is half the range."""
    ordered = np.sort(values)
    gaps = [high - low for low, high in pairwise(ordered)][1:-1]
    return bool(gaps and max(gaps) > APART * (ordered[-1] - ordered[0]))

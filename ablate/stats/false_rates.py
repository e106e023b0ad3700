"""How often verdicts are false where noise is skewed or in clusters: measured shares.

`python -m lab.robustness` measures them, and docs/calibration.md has every shape of noise; here is
the largest share of each kind of noise. A verdict states its share where seeds are few, look skewed
or fall in two clusters, since its nominal level does not hold there.
"""

from itertools import pairwise

import numpy as np

from ablate.stats.skew import Seeds

ENOUGH = 10  # seeds from which on the nominal level holds within 1.5 points
APART = 0.5  # share of the range that a gap between two clusters takes at least
FEW, SKEWED, CLUSTERED = "few seeds", "visible skewness", "two clusters"
# By number of seeds: one-sided tests (nominal 0.025), and equivalence (nominal 0.05).
MEASURED = {
    FEW: {3: (0.057, 0.095), 5: (0.053, 0.084), 7: (0.048, 0.072), 10: (0.036, 0.060)},
    SKEWED: {
        3: (0.057, 0.095),
        5: (0.065, 0.113),
        7: (0.067, 0.102),
        10: (0.060, 0.097),
        20: (0.051, 0.074),
    },
    CLUSTERED: {3: (0.057, 0.095), 5: (0.059, 0.089), 7: (0.050, 0.072), 10: (0.036, 0.060)},
}


def false_rate(noise: str, seeds: int, *, equivalence: bool) -> float:
    """Return the largest measured share of false verdicts with this noise and so many seeds.

    Between two measured numbers of seeds the larger share of both counts.
    """
    rows = MEASURED[noise]
    below = max((n for n in rows if n <= seeds), default=min(rows))
    above = min((n for n in rows if n >= seeds), default=max(rows))
    return max(rows[below][equivalence], rows[above][equivalence])


def in_clusters(values: Seeds) -> bool:
    """Return whether a gap in the middle, two seeds or more on either side, is half the range."""
    ordered = np.sort(values)
    gaps = [high - low for low, high in pairwise(ordered)][1:-1]
    return bool(gaps and max(gaps) > APART * (ordered[-1] - ordered[0]))

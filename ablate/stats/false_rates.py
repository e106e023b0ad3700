"""Return measured rates of false verdicts when the noise is skewed, clustered or long-tailed.

`python -m lab.robustness` measures these rates (docs/explanation/calibration.md). The tables in
this module have the largest rate over all shapes of noise. Where the error is borrowed from the
other arms of a study, the rates are those of `python -m lab.moderation`
(docs/explanation/moderation.md); they are largest if one arm is skewed and all others are quiet.
Every verdict on a mean states this rate, even if the noise looks normal, because a few seeds may
not show a long tail. Beside the rate, the verdict names the reason: few seeds, visible skewness,
two clusters, or a tail that so few seeds cannot show.
"""

from itertools import pairwise

import numpy as np

from ablate.stats.skew import Seeds, is_visible

ENOUGH = 10  # number of seeds from which the nominal level holds within 1.5 points
APART = 0.5  # smallest gap between two clusters, as a fraction of the range
FEW, SKEWED, CLUSTERED = "few seeds", "visible skewness", "two clusters"
HIDDEN = "a tail too long for so few seeds to show"
# by number of seeds: rates of one-sided tests (nominal 0.025), and of equivalence (nominal 0.05)
MEASURED = {
    3: (0.057, 0.095),
    5: (0.065, 0.113),
    7: (0.067, 0.102),
    10: (0.060, 0.097),
    20: (0.051, 0.074),
}
BORROWED = {3: (0.149, 0.191), 5: (0.125, 0.157), 10: (0.069, 0.110), 20: (0.047, 0.076)}


def false_rate(seeds: int, *, equivalence: bool, borrowed: bool = False) -> float:
    """Return the largest measured rate of false verdicts for a number of seeds.

    For a number between two simulated numbers of seeds, return the larger of their two rates.

    Args:
        seeds: number of paired seeds.
        equivalence: whether the claim is one of equivalence, which is tested at alpha = 0.05
            instead of 0.025.
        borrowed: whether the error comes from all arms of a study (ablate.stats.moderated).
    """
    measured = BORROWED if borrowed else MEASURED
    below = max((n for n in measured if n <= seeds), default=min(measured))
    above = min((n for n in measured if n >= seeds), default=max(measured))
    return max(measured[below][equivalence], measured[above][equivalence])


def visible_noise(skewness: float, differences: Seeds) -> str:
    """Return why verdicts on paired differences may be false more often than the level promises."""
    if is_visible(skewness, len(differences)):
        return SKEWED
    if in_clusters(differences):
        return CLUSTERED
    return FEW if len(differences) < ENOUGH else HIDDEN


def in_clusters(values: Seeds) -> bool:
    """Return whether the values form two clusters: at least two seeds on either side of a gap that
    is wider than half of the range.
    """
    ordered = np.sort(values)
    gaps = [high - low for low, high in pairwise(ordered)][1:-1]
    return bool(gaps and max(gaps) > APART * (ordered[-1] - ordered[0]))

"""Power calculations that all kinds of claim share.

For a normal mean with estimated spread the chance of a verdict is an integral over the chi-square
of the spread (with one level of noise: the noncentral t), taken at 400 equally likely values of it.
The noise is taken as measured, so the answers are as rough as it is: with 5 seeds the spread is
known to a factor of about 1.7 either way. The effect is never taken as measured: a plan names the
true effect that it is for.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from ablate.stats.estimate import Estimate, half_width
from ablate.stats.skew import longest

VALUES = 400  # of the chi-square


def known(found: Any) -> bool:
    """Whether there is a spread to plan with."""
    return found.pairs >= 2 and found.error > 0


def halves(found: Estimate, pairs: int, tail: float) -> Float[np.ndarray, " values"]:
    """Half-widths of the interval for equally likely values of the estimated spread.

    Where seeds are corrected for their skewness, those of the longer end.
    """
    of_seeds = found.seed_variance / pairs * _chi2(pairs - 1) / (pairs - 1)
    skew = 0.0 if found.skewness is None else longest(abs(found.skewness), pairs)
    widths = half_width(tail, pairs, of_seeds, found.sentences, found.sentence_variance, skew)
    return np.asarray(widths)


@lru_cache(maxsize=64)
def _chi2(df: int) -> Float[np.ndarray, " values"]:
    return stats.chi2.ppf((np.arange(VALUES) + 0.5) / VALUES, df)

"""The exact sign-flip test of paired differences, shown beside the verdict's own p-value.

Where the differences are symmetric about 0, every pattern of their signs is as likely; p is the
share of patterns whose mean is at least as far from 0. Five pairs cannot reach .05: p >= 1 / 16.
Source: Fisher 1935, The Design of Experiments, section 21. It knows seeds alone, no sentences.
"""

import numpy as np
from jaxtyping import Float
from scipy import stats

PATTERNS = 2**14  # all of them up to 14 pairs, that many at random beyond


def sign_flip(differences: Float[np.ndarray, " seeds"]) -> float | None:
    """Two-sided p-value against a mean of 0; None for fewer than two pairs."""
    if len(differences) < 2:
        return None
    found = stats.permutation_test(
        (differences,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PATTERNS,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)

"""Compute the exact sign-flip test of paired differences.

Reports show its p-value beside the p-value of a verdict.

If the differences are symmetric about 0, all patterns of their signs are equally likely. The
p-value is the fraction of patterns whose mean is at least as far from 0 as the observed mean. Five
pairs cannot reach .05: p >= 1 / 16. The test accounts for the choice of seeds, but not of test
sentences.
Source: Fisher 1935, The Design of Experiments, section 21.
"""

import numpy as np
from jaxtyping import Float

PATTERNS = 2**14  # all patterns up to 14 pairs; this number of random patterns beyond


def sign_flip(differences: Float[np.ndarray, " seeds"]) -> float | None:
    """Return the two-sided p-value against a mean of 0; None for fewer than two differences."""
    if len(differences) < 2:
        return None
    from scipy import stats  # takes a second

    test = stats.permutation_test(
        (differences,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PATTERNS,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)

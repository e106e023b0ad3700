"""What tuning adds to the noise of a difference, as docs/explanation/statistics.md says it."""

import numpy as np
import pytest

from lab.calibration.stress import of_tuning

SWEEPS = 500


@pytest.mark.parametrize("apart", [0.5, 1.0])
def test_replicates_that_choose_for_themselves_find_no_difference_in_identical_arms(apart):
    rates = of_tuning(apart, 10, SWEEPS, np.random.default_rng(0))
    assert rates["a replicate chooses"] <= 0.05 + 2.6 * (0.05 * 0.95 / SWEEPS) ** 0.5
    assert rates["an arm chooses"] > 0.1

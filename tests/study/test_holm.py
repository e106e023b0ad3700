"""Holm's correction, as statsmodels has it."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from ablate.stats.holm import adjust


def test_it_is_statsmodels_on_the_smaller_of_each_claims_two_p_values():
    rng = np.random.default_rng(0)
    for _ in range(4):  # statsmodels collects garbage each time
        p = rng.uniform(0, 0.2, 6)
        adjusted = adjust([{"supported": x, "refuted": 1.0} for x in p], [0.05] * 6)
        expected = multipletests(p, method="holm")[1]
        assert [p_values["supported"] for p_values in adjusted] == pytest.approx(expected)
        assert all(p_values["refuted"] == 1.0 for p_values in adjusted)


def test_claims_may_have_their_own_alpha():
    adjusted = adjust([{"supported": 0.02}, {"supported": 0.02}], [0.1, 0.05])
    # the first is more significant for its alpha and bears the factor 2
    assert [p_values["supported"] for p_values in adjusted] == pytest.approx([0.04, 0.02])

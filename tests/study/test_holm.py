"""Holm's correction, as statsmodels has it."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from ablate.stats.holm import adjust


def test_it_is_statsmodels_on_the_smaller_of_each_claims_two_p_values():
    rng = np.random.default_rng(0)
    for _ in range(4):  # statsmodels collects garbage each time
        p = rng.uniform(0, 0.2, 6)
        found = adjust([{"supported": x, "refuted": 1.0} for x in p], [0.05] * 6)
        expected = multipletests(p, method="holm")[1]
        assert [one["supported"] for one in found] == pytest.approx(expected)
        assert all(one["refuted"] == 1.0 for one in found)


def test_one_claim_is_left_alone():
    assert adjust([{"supported": 0.9, "refuted": 0.02}], [0.05]) == [
        {"supported": 0.9, "refuted": 0.02}
    ]


def test_no_claim_is_none():
    assert adjust([], []) == []


def test_claims_may_have_their_own_alpha():
    found = adjust([{"supported": 0.02}, {"supported": 0.02}], [0.1, 0.05])
    # the first is more significant for its alpha and bears the factor 2
    assert [one["supported"] for one in found] == pytest.approx([0.04, 0.02])

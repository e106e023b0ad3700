"""`ablate power`: the number of runs, before there are any."""

import pytest
from statsmodels.stats.power import TTestIndPower, TTestPower

from ablate.plan.comparison import Plan


@pytest.mark.parametrize("runs", [5, 60])
@pytest.mark.parametrize("design", ["unpaired", "paired"])
def test_what_runs_can_show_is_what_statsmodels_says(runs, design):
    effect = Plan(sd=1.0, margin=1.0, design=design, test="textbook").detectable(runs)
    theirs = TTestIndPower() if design == "unpaired" else TTestPower()
    assert theirs.power(effect, runs, 0.05) == pytest.approx(0.8, abs=0.003)

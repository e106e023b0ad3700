"""`ablate power`: the number of runs, before there are any."""

import re

import pytest
from statsmodels.stats.power import TTestIndPower, TTestPower

from ablate.plan.comparison import Plan


@pytest.mark.parametrize("runs", [5, 60])
@pytest.mark.parametrize("design", ["unpaired", "paired"])
def test_what_runs_can_show_is_what_statsmodels_says(runs, design):
    effect = Plan(sd=1.0, margin=1.0, design=design, test="textbook").detectable(runs)
    theirs = TTestIndPower() if design == "unpaired" else TTestPower()
    assert theirs.power(effect, runs, 0.05) == pytest.approx(0.8, abs=0.003)


@pytest.mark.parametrize("kind", ["superiority", "equivalence", "non_inferiority"])
@pytest.mark.parametrize("margin", ["0.002"])
def test_the_command_says_how_many(ablate_command, kind, margin):
    words = ["--sd", "0.0013", "--margin", margin, "--kind", kind, "--runs", "10"]
    status, out, err = ablate_command("power", *words)
    assert (status, err) == (0, "")
    assert re.search(r"supported: \d+ runs per arm", out) and "10 runs per arm detect" in out

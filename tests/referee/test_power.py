"""`ablate power`: the number of runs, before there are any."""

import re

import pandas as pd
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


def test_a_table_may_have_a_row_for_each_step(ablate_command, runs_csv, tmp_path):
    words = ["--arm", "variant", "--metric", "val_loss", "--baseline", "relu", "--margin", "0.002"]
    expected = ablate_command("power", runs_csv, *words)
    rows, path = pd.read_csv(runs_csv, dtype=str), tmp_path / "steps.csv"
    last = rows.assign(id=range(len(rows)), step=1)
    pd.concat([last.assign(step=0, val_loss="9"), last]).to_csv(path, index=False)
    assert ablate_command("power", path, *words, "--run", "id", "--step", "step") == expected
    status, _, err = ablate_command("power", path, *words, "--run", "id")
    assert status == 2 and "run and step belong together" in err
    last.assign(step=range(len(rows))).to_csv(path, index=False)
    assert "Most rows differ in step" in ablate_command("power", path, *words)[1]

"""The replay of the speed-run: its committed report is what its numbers give."""

import csv
import math

import numpy as np
import pytest

from lab.calibration.speedrun import ENTRIES, _target, report
from lab.speedrun import FOLDER


@pytest.fixture(scope="module")
def losses():
    by_entry = {}
    with (FOLDER / "entries.csv").open() as file:
        for row in csv.DictReader(file):
            by_entry.setdefault(int(row["entry"]), []).append(float(row["val_loss"]))
    return {entry: np.array(values) for entry, values in by_entry.items()}


def test_the_committed_report_is_made_from_the_committed_numbers():
    assert report(FOLDER / "entries.csv") == (FOLDER / "report.md").read_text()


def test_the_rule_of_the_speed_run_is_the_z_test_that_we_make_of_it(losses):
    noise = {"sd": 0.0013, "source": "its rule"}
    claims = _target(FOLDER / "entries.csv", {"noise": noise})
    assert losses.keys() == ENTRIES.keys()
    for entry, values in losses.items():
        valid = (3.28 - values.mean()) * math.sqrt(len(values)) >= 0.004
        assert valid == (claims[str(entry)]["p"]["supported"] <= 0.00105)


def test_entry_30_is_read_at_the_step_that_its_readme_names(losses):
    assert (len(losses[30]), round(float(losses[30].mean()), 4)) == (16, 3.2784)

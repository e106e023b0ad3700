"""The engine on simulated sweeps: a short form of docs/explanation/calibration.md."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from lab.calibration import calibrate
from lab.calibration.simulate import KINDS, Design
from lab.calibration.tables import Tried
from lab.calibration.trial import INTERVAL, SimulatedSweep

SWEEPS = 150
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "calibration.md"


@pytest.fixture(scope="module")
def shares():
    """What happened in sweeps of 5 seeds and 200 sentences whose arms differ on sentences."""
    design = Design.with_effects(KINDS["distinct arms"], (0.0, 0.0, 2.0))
    trial, rng = SimulatedSweep(design, 5, 200, 2.0), np.random.default_rng(1)
    marks = calibrate.total(trial.run(rng) for _ in range(SWEEPS))
    return {name: mark / SWEEPS for name, mark in marks.items()}


def at_most(alpha):
    """A bound that a rate of alpha exceeds once in a thousand times."""
    return alpha + 3.1 * (alpha * (1 - alpha) / SWEEPS) ** 0.5


@pytest.mark.slow
def test_false_verdicts_are_as_rare_as_alpha(shares):
    sides = ("supported", "refuted")
    for name in ("superiority at effect 0", "trend at slope 0"):
        assert sum(shares[f"{name}: {side}"] for side in sides) <= at_most(0.05)
    for name in ("equivalence at +margin", "equivalence at -margin"):
        assert shares[f"{name}: supported"] <= at_most(0.05)
        assert shares[f"{name}: refuted"] <= at_most(0.025)
    assert shares["superiority at the margin: refuted"] <= at_most(0.025)
    assert shares["superiority at the margin: large enough to matter"] <= at_most(0.025)
    assert shares["non-inferiority at -margin: supported"] <= at_most(0.025)
    assert shares["non-inferiority at -margin: refuted"] <= at_most(0.025)
    assert shares["family"] <= at_most(0.05)
    assert shares[INTERVAL] <= at_most(0.05)


def test_the_exit_status_says_that_a_row_failed(laboratory, monkeypatch, tmp_path):
    monkeypatch.setattr(calibrate, "calibrate", lambda *_: {})
    monkeypatch.setattr(calibrate, "keep", lambda *_: {})
    monkeypatch.setattr(calibrate, "tried", lambda *_: Tried({}, {}))
    monkeypatch.setattr("lab.calibration.robustness.measured", lambda page: page)
    page = shutil.copy(PAGE, tmp_path / "calibration.md")
    for share, status in ((0.05, 0), (0.5, 1)):
        missed = {("0.1", 5): {"documents named": share, "not named": share}}
        monkeypatch.setattr("lab.calibration.stress.stress", lambda *_, rates=missed: rates)
        assert laboratory("calibrate", "sweeps=1000", "seeds=5", f"to={page}")[0] == status
    assert "0.1, 5, documents named: 50.0 %, allowed is 5.0 %" in page.read_text()

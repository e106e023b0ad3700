"""The engine on simulated sweeps: a short form of docs/explanation/calibration.md."""

import numpy as np
import pytest

from lab.calibration import calibrate
from lab.calibration.simulate import KINDS, Design
from lab.calibration.trial import INTERVAL, SimulatedSweep

SWEEPS = 150


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

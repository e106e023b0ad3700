"""The noise of a corpus."""

import numpy as np
import pytest

from lab.calibration.noise import noise


def test_every_arm_and_every_difference_is_told(translated, evidence):
    runs, statistics = translated(20, sentences=400)
    spreads = noise(evidence(runs, statistics=statistics))
    assert list(spreads) == ["post_ln", "pre_ln", "post_ln - pre_ln"]
    arm = spreads["post_ln"]
    assert (arm["seeds"], arm["sentences"]) == (20, 400)
    scores = [run["metrics"]["test/bleu"] for run in runs[:20]]
    assert arm["seed"] ** 2 + arm["rest"] ** 2 == pytest.approx(np.var(scores, ddof=1), rel=0.02)

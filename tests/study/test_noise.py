"""The noise of a corpus."""

import json

import numpy as np
import pytest

from ablate.errors import UserError
from lab.calibration.noise import noise


def test_every_arm_and_every_difference_is_told(translated, evidence):
    runs, statistics = translated(20, sentences=400)
    spreads = noise(evidence(runs, statistics=statistics))
    assert list(spreads) == ["post_ln", "pre_ln", "post_ln - pre_ln"]
    arm = spreads["post_ln"]
    assert (arm["seeds"], arm["sentences"]) == (20, 400)
    scores = [run["metrics"]["test/bleu"] for run in runs[:20]]
    assert arm["seed"] ** 2 + arm["rest"] ** 2 == pytest.approx(np.var(scores, ddof=1), rel=0.02)


def test_runs_without_statistics_are_refused(arms, evidence):
    with pytest.raises(UserError, match="no arm has two finished runs with statistics of split te"):
        noise(evidence(arms([1.0, 2.0], [1.0, 2.0])))


def test_the_command_reads_a_folder_of_evidence(translated, saved, laboratory):
    runs, statistics = translated(2)
    folder = saved(runs, statistics=statistics)
    assert "post_ln - pre_ln" in json.loads(laboratory("noise", folder, "split=test")[1])

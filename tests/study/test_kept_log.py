"""Runs that the analysis log beside evidence has cannot be left out of it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.evidence.checks import ANALYSIS_LOG
from ablate.evidence.folder import Evidence
from ablate.verdict.study_checks import load_evidence

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture(params=["memorising", "padding_mask"])
def kept(request, tmp_path):
    """A copy of committed evidence that has a log."""
    folder = tmp_path / request.param
    shutil.copytree(EXPERIMENTS / request.param, folder)
    return folder


@pytest.mark.parametrize("dropped", [1])
def test_seeds_that_are_dropped_and_sealed_again_are_missed(kept, dropped):
    evidence = load_evidence(kept)
    seeds = sorted({run["seed"] for run in evidence.runs})[:dropped]
    left = [run for run in evidence.runs if run["seed"] not in seeds]
    replace(evidence, runs=left).save(kept)
    assert Evidence.load(kept).runs  # its seal is as good as before
    with pytest.raises(UserError, match=f"{ANALYSIS_LOG} .*seed.* {seeds[0]}"):
        load_evidence(kept)


def test_a_log_that_is_removed_is_missed(kept):
    (kept / ANALYSIS_LOG).unlink()
    with pytest.raises(UserError, match=ANALYSIS_LOG):
        load_evidence(kept)

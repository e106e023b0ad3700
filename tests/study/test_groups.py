"""Test sentences that come in groups: the interval covers other groups, and says so."""

from dataclasses import replace

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.folder import Evidence, by_group
from ablate.record.files import write_arrays
from lab.calibration.stress import of_groups, of_tuning

from .conftest import only

SWEEPS = 400
DOCUMENTS = np.repeat(np.arange(20), 10)


@pytest.mark.parametrize("correlation", [0.1, 0.3])
def test_intervals_over_documents_miss_as_rarely_as_alpha(correlation):
    rates = of_groups(correlation, 10, SWEEPS, np.random.default_rng(0))
    assert rates["documents named"] <= 0.05 + 2.6 * (0.05 * 0.95 / SWEEPS) ** 0.5
    assert rates["not named"] > 0.12


def test_contributions_of_groups_have_the_mean_of_those_of_sentences():
    parts = np.random.default_rng(1).normal(size=(3, 60))
    names = np.random.default_rng(2).integers(0, 7, 60) * 5
    grouped = by_group(parts, names)
    assert grouped.shape == (3, 7)
    assert grouped.mean(1) == pytest.approx(parts.mean(1))
    alone = by_group(parts, np.arange(60))
    assert alone == pytest.approx(parts)


def test_a_verdict_counts_groups_and_says_so(claim, translated, evidence):
    runs, statistics = translated(5)
    made = evidence(runs, claim(metric="test/bleu"), statistics=statistics)
    groups = ({}, {"test": DOCUMENTS}, {"test": np.arange(200)})
    alone, grouped, single = (only(replace(made, groups=names)) for names in groups)
    assert grouped["effect"] == alone["effect"]
    assert grouped["differences"] == alone["differences"]
    assert grouped["interval"] != alone["interval"]
    assert alone["noise"] == ["seeds", "sentences"]
    assert grouped["noise"] == ["seeds", "groups of sentences"]
    assert single["interval"] == pytest.approx(alone["interval"])


def test_groups_survive_being_written_and_must_fit(saved, translated, tmp_path):
    runs, statistics = translated(3)
    for run in runs:
        run["metrics"]["test/nll"] = 2.0
    first = Evidence.load(saved(runs, statistics=statistics))
    replace(first, groups={"test": DOCUMENTS}).save(tmp_path)
    reread = Evidence.load(tmp_path)
    np.testing.assert_array_equal(reread.groups["test"], DOCUMENTS)
    assert reread.statistics.keys() == first.statistics.keys()
    path = tmp_path / "statistics.npz"
    with np.load(path) as arrays:
        write_arrays(path, {**arrays, "test of groups": DOCUMENTS[:-1]})
    with pytest.raises(UserError, match="groups"):
        Evidence.load(tmp_path)


@pytest.mark.parametrize("apart", [0.5, 1.0])
def test_replicates_that_choose_for_themselves_find_no_difference_in_identical_arms(apart):
    rates = of_tuning(apart, 10, 500, np.random.default_rng(0))
    assert rates["a replicate chooses"] <= 0.05 + 2.6 * (0.05 * 0.95 / 500) ** 0.5
    assert rates["an arm chooses"] > 0.1

"""Differences that only rounding errors separate from a margin, a tolerance or 0 are ties."""

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.verdict.conclude import conclude

from .conftest import only

MARGIN, SEEDS = 0.3, 8
# the second number minus the first is 0.3, or a little more or less in floating-point arithmetic
PAIRS = [(0.1, 0.4), (1e6, 1e6 + 0.3)]
KINDS = {
    "superiority": ("supported", "direction only"),
    "equivalence": ("inconclusive", ""),
    "non_inferiority": ("supported", ""),
}
COLUMNS = {"arm": "arm", "metric": "x", "better": "higher", "treatment": "b", "margin": MARGIN}


@pytest.fixture(params=PAIRS, ids=str)
def pair(request):
    return request.param


def arm(name, value, seeds=SEEDS):
    return [{"arm": name, "seed": seed, "x": value} for seed in range(seeds)]


@pytest.mark.parametrize("kind", KINDS)
def test_eight_equal_pairs_at_the_margin_have_one_verdict(claim, arms, evidence, pair, kind):
    runs = arms([pair[1]] * SEEDS, [pair[0]] * SEEDS, "test/x")
    asked = claim(kind=kind, metric="test/x", margin=MARGIN)
    frame = pd.DataFrame([*arm("a", pair[0]), *arm("b", pair[1])])
    designs = ({"baseline": "a", "pair": "seed"}, {"baseline": "a"}, {"target": pair[0]})
    tables = [ablate.compare(frame, kind=kind, **COLUMNS, **design) for design in designs]
    for verdict in (conclude(evidence(runs, asked)), *(table.to_dict() for table in tables)):
        (entry,) = verdict["claims"]
        assert (entry["verdict"], entry["grade"]) == KINDS[kind]


@pytest.mark.parametrize("limit", ["tolerance", "margin"])
def test_exact_claims_count_a_tie_as_within_the_limit(claim, arms, evidence, pair, limit):
    asked = {"kind": "exact", "margin": 0.0, limit: MARGIN}
    runs = arms([pair[1]] * 2, [pair[0]] * 2, "test/x")
    entry = only(evidence(runs, claim(metric="test/x", **asked)))
    assert entry["verdict"] == "supported"
    frame = pd.DataFrame([*arm("a", pair[0], 2), *arm("b", pair[1], 2)])
    columns = {**COLUMNS, **asked, "baseline": "a", "pair": "seed"}
    assert ablate.compare(frame, **columns).to_dict()["claims"][0]["verdict"] == "supported"


def test_a_sum_of_parts_is_no_better_than_the_whole(claim, arms, evidence):
    runs = arms([0.1 + 0.2] * SEEDS, [0.3] * SEEDS, "test/x")
    entry = only(evidence(runs, claim(metric="test/x", margin=0.0)))
    assert entry["verdict"] == "inconclusive" and entry["problem"]
    frame = pd.DataFrame([*arm("a", 0.3), *arm("b", 0.1 + 0.2)])
    asked = {**COLUMNS, "baseline": "a", "margin": 0.0}
    assert ablate.compare(frame, **asked).to_dict()["claims"][0]["verdict"] == "inconclusive"


def test_small_numbers_are_not_ties(claim, arms, evidence):
    asked = claim(metric="test/x", margin=0.0)
    runs = arms([2e-13] * SEEDS, [1e-13] * SEEDS, "test/x")
    assert only(evidence(runs, asked))["verdict"] == "supported"
    noise = np.random.default_rng(0).normal(1e-13, 1e-14, (2, SEEDS))
    entry = only(evidence(arms(*noise.tolist(), "test/x"), asked))
    assert entry["p"]["supported"] not in (1.0, 0.5**SEEDS)


def test_a_p_value_of_alpha_is_significant():
    """Two of the 70 orders of eight runs are the most extreme, and alpha is 2 / 70."""
    frame = pd.DataFrame([*arm("a", 0.1, 4), *arm("b", 0.4, 4)])
    asked = {**COLUMNS, "margin": 0.0, "baseline": "a", "alpha": 2 / 70}
    (claim,) = ablate.compare(frame, **asked).to_dict()["claims"]
    assert claim["verdict"] == "supported" and claim["interval"]


def test_a_run_as_good_as_no_learning_has_not_learned():
    rows = [*arm("a", 0.1 + 0.2), *arm("b", 0.9)]
    asked = {**COLUMNS, "margin": 0.0, "baseline": "a", "floor": 0.3}
    (claim,) = ablate.compare(pd.DataFrame(rows), **asked).to_dict()["claims"]
    assert sorted(count["runs"] for count in claim["failed_to_learn"].values()) == [0, SEEDS]

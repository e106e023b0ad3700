"""Claims that must hold in every case; about trained models they are estimates over seeds."""

import math

import numpy as np
import pytest

from ablate.verdict.kinds import kind_of
from ablate.verdict.stored import is_exact

from .conftest import only

METRIC = "probe/excess"
TWO_ARMS = {"kind": "exact", "margin": 0.0}
ALONE = {**TWO_ARMS, "metric": METRIC, "treatment": {}, "baseline": {}}


def examine(claim, evidence):
    return kind_of(claim).evaluate(claim, evidence).cases


@pytest.fixture
def measured(run):
    """Runs of one arm with these values of a metric, each in a cell."""

    def make(values, metric=METRIC, **more):
        return [
            run({"model/residual": "pre_ln"}, cell, **{metric: value, **more}) | {"cell": cell}
            for cell, value in enumerate(values)
        ]

    return make


@pytest.mark.parametrize(
    ("values", "bar", "verdict", "worst"),
    [
        ((0.0, 0.0), {}, "supported", 0.0),
        ((0.0, -3.0), {}, "refuted", 3.0),
        ((1e-9, -1e-9), {"tolerance": 1e-8}, "supported", 1e-9),
        ((0.0, math.nan), {}, "refuted", math.nan),
        ((None, 0.0), {"tolerance": 0.1}, "refuted", math.nan),
        ((), {}, "inconclusive", math.nan),
        ((0.05, -3.0), {"tolerance": 0.1, "better": "lower"}, "supported", 0.05),
        ((0.15, -3.0), {"tolerance": 0.1, "better": "lower"}, "refuted", 0.15),
        ((0.5, -3.0), {"margin": 0.2}, "supported", 0.5),  # every case is away from 0
        ((0.5, 0.1), {"margin": 0.2}, "refuted", 0.1),
        ((0.5, math.inf), {"margin": 0.2}, "refuted", 0.5),
    ],
)
def test_all_cases_or_not_at_all(claim, measured, evidence, values, bar, verdict, worst):
    outcome = examine(claim(**ALONE | bar), evidence(measured(values)))
    assert outcome.verdict == verdict
    assert outcome.effect == pytest.approx(worst, nan_ok=True)


def test_runs_that_were_not_measured_do_not_count(claim, measured, run, evidence):
    runs = [*measured([0.0]), run({"a": 1}, 1, "diverged"), run({"a": 1}, 2, "failed")]
    outcome = examine(claim(**ALONE), evidence(runs))
    assert (outcome.verdict, len(outcome.counted), len(outcome.cases)) == ("supported", 1, 2)


def test_null_is_a_level(claim, run, evidence):
    runs = [run({"model.d_head": d}, 0, **{METRIC: x}) for d, x in ((None, 0.0), (16, 5.0))]
    for level, verdict in ((None, "supported"), (16, "refuted")):
        asked = claim(**ALONE, where={"model.d_head": level})
        assert examine(asked, evidence(runs)).verdict == verdict


@pytest.mark.parametrize(("moved", "verdict"), [(0.5, "supported"), (0.0005, "inconclusive")])
def test_a_control_at_rest_proves_nothing(claim, measured, evidence, moved, verdict):
    runs = measured([0.0], **{"probe/control": moved})
    outcome = examine(claim(**ALONE, control="probe/control"), evidence(runs))
    assert outcome.verdict == verdict


@pytest.mark.parametrize(("gap", "verdict"), [(0.0, "supported"), (0.1, "refuted")])
def test_two_arms_must_agree_on_every_seed(claim, arms, evidence, gap, verdict):
    runs = arms([1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + gap])
    outcome = examine(claim(**TWO_ARMS, tolerance=0.05), evidence(runs))
    assert (outcome.verdict, outcome.effect) == (verdict, pytest.approx(gap))


def test_translations_must_be_the_same(claim, translated, evidence):
    runs, statistics = translated(2)
    asked = claim(**TWO_ARMS, metric="test/changed")
    assert examine(asked, evidence(runs, statistics=statistics)).verdict == "refuted"
    for seed in range(2):
        statistics[f"pre_ln {seed}"] = {"test": np.array(statistics[f"post_ln {seed}"]["test"])}
    assert examine(asked, evidence(runs, statistics=statistics)).verdict == "supported"


def test_runs_are_paired_by_the_levels_that_the_claim_leaves_free(claim, run, evidence):
    """An interim analysis may stop an arm early, so that the arms of a seed have different runs."""
    values = {("pre_ln", 2): 1.0, ("post_ln", 2): 1.0, ("pre_ln", 6): 5.0, ("post_ln", 6): 5.0}
    runs = [
        run({"model/residual": residual, "model.n_layers": layers}, seed, **{"test/nll": value})
        for (residual, layers), value in values.items()
        for seed in (0, 1)
        if (residual, layers, seed) != ("pre_ln", 2, 1)
    ]
    factors = ["model/residual", "model.n_layers"]
    outcome = examine(claim(**TWO_ARMS), evidence(runs, factors=factors))
    assert [(case.seed, case.value) for case in outcome.cases] == [(0, 0.0), (0, 0.0), (1, 0.0)]


@pytest.fixture
def judged(claim, measured, evidence):
    """Judge one exact claim about runs of one arm that took 100 steps, with these values."""

    def judge(values, steps=100, metric="test/skill", **changes):
        asked = claim(**{**ALONE, "metric": metric} | changes)
        return only(evidence(measured(values, metric, steps=steps), asked, seeds=len(values)))

    return judge


@pytest.mark.parametrize(
    ("values", "bar", "verdict"),
    [
        ((0.95, 0.96, 0.97, 0.96), {"margin": 0.9}, "supported"),
        ((0.95, 0.99, 0.80, 0.96), {"margin": 0.9}, "inconclusive"),
        ((0.72, 0.73, 0.74), {"margin": 0.9}, "refuted"),
        ((0.002, 0.001, 0.003), {"tolerance": 0.01}, "supported"),
        ((-0.003, 0.9, 0.95, 0.97, 0.99), {"tolerance": 0.01}, "refuted"),
        ((-0.2, -0.1, 0.01, -0.1), {"tolerance": 0.1, "better": "lower"}, "supported"),
        ((0.95,), {"margin": 0.9}, "inconclusive"),
        ((None, 0.95, 0.96, 0.97), {"margin": 0.9}, "supported"),
    ],
)
def test_values_of_trained_models_are_estimated(judged, values, bar, verdict):
    entry = judged(values, **bar)
    assert entry["verdict"] == verdict
    assert not is_exact(entry)


@pytest.mark.parametrize(("seeds", "verdict"), [(4, "inconclusive"), (5, "supported")])
def test_equal_values_count_as_a_sign_test(judged, claim, arms, evidence, seeds, verdict):
    entry = judged((1.0,) * seeds, margin=0.99)
    assert (entry["verdict"], entry["p"]["supported"]) == (verdict, 0.5**seeds)
    runs = arms([1.0] * seeds, [1.0] * seeds)
    for cell, run in enumerate(runs):
        run["cell"], run["metrics"]["steps"] = cell, 100
    entry = only(evidence(runs, claim(**TWO_ARMS), seeds=seeds))
    assert (entry["verdict"], entry["p"]["supported"]) == (verdict, 0.5**seeds)


@pytest.mark.parametrize(
    ("metric", "steps"), [("test/skill", 0), ("parameters", 100), ("probe/excess", 100)]
)
def test_what_training_has_no_part_in_stays_exact(judged, metric, steps):
    entry = judged((0.0, 0.0), steps, metric, tolerance=0.1)
    assert (entry["verdict"], entry["interval"]) == ("supported", None)
    assert is_exact(entry) and entry["p"] == {}


@pytest.mark.parametrize(
    ("metrics", "control", "elsewhere", "response"),
    [
        ((0.0, 0.0), "", None, None),
        ((0.0, 0.4), "", ({"model/residual": "other"}, 0.4), None),
        ((0.0, 0.0), "probe/control", None, 2.0),
    ],
)
def test_a_claim_says_whether_its_check_could_have_failed(
    claim, run, evidence, metrics, control, elsewhere, response
):
    made = [
        run({"model/residual": arm}, 0, **{METRIC: x, "probe/control": 2.0}) | {"cell": cell}
        for cell, (arm, x) in enumerate(zip(("this", "other"), metrics, strict=True))
    ]
    asked = claim(**ALONE, where={"model/residual": "this"}, control=control)
    cases = only(evidence(made, asked))["cases"]
    assert (cases.get("elsewhere"), cases["control"]) == (elsewhere, response)

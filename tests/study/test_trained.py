"""Exact claims about trained models are estimates, and exact ones say how often they were tried."""

import pytest

from ablate.verdict.conclude import conclude
from ablate.verdict.stored import is_exact

OF = {"kind": "exact", "treatment": {}, "baseline": {}}


@pytest.fixture
def judged(claim, run, evidence):
    """Judge one exact claim about runs of one arm that took 100 steps, with these values."""

    def judge(values, steps=100, metric="test/skill", **changes):
        made = [
            run({"model/residual": "pre_ln"}, i, **{metric: x, "steps": steps}) | {"cell": i}
            for i, x in enumerate(values)
        ]
        asked = claim(**{**OF, "margin": 0.0, "metric": metric} | changes)
        return conclude(evidence(made, asked, seeds=len(values)))["claims"][0]

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
def test_equal_values_count_as_a_sign_test(judged, seeds, verdict):
    entry = judged((1.0,) * seeds, margin=0.99)
    assert (entry["verdict"], entry["p"]["supported"]) == (verdict, 0.5**seeds)


@pytest.mark.parametrize(
    ("metric", "steps"), [("test/skill", 0), ("parameters", 100), ("probe/excess", 100)]
)
def test_what_training_has_no_part_in_stays_exact(judged, metric, steps):
    entry = judged((0.0, 0.0), steps, metric, tolerance=0.1)
    assert (entry["verdict"], entry["interval"]) == ("supported", None)
    assert is_exact(entry)


@pytest.mark.parametrize(
    ("gaps", "verdict", "exact"),
    [((0.0,) * 5, "supported", False), ((0.0, 0.02), "inconclusive", False)],
)
def test_trained_arms_that_agree_in_every_run_have_a_p_value(
    claim, arms, evidence, gaps, verdict, exact
):
    runs = arms([1.0] * len(gaps), [1.0 + gap for gap in gaps])
    for cell, run in enumerate(runs):
        run["cell"], run["metrics"]["steps"] = cell, 100
    asked = claim(kind="exact", margin=0.0, tolerance=0.01)
    entry = conclude(evidence(runs, asked, seeds=len(gaps)))["claims"][0]
    assert (entry["verdict"], is_exact(entry)) == (verdict, exact)


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
        run({"model/residual": arm}, 0, **{"probe/x": x, "probe/control": 2.0}) | {"cell": cell}
        for cell, (arm, x) in enumerate(zip(("this", "other"), metrics, strict=True))
    ]
    where = {"model/residual": "this"}
    asked = claim(**{**OF, "margin": 0.0, "metric": "probe/x"}, where=where, control=control)
    cases = conclude(evidence(made, asked))["claims"][0]["cases"]
    assert (cases.get("elsewhere"), cases["control"]) == (elsewhere, response)


@pytest.mark.parametrize(("other", "fails"), [(1.4, True), (1.0, False)])
def test_a_check_of_two_arms_can_fail_with_the_same_two_arms_elsewhere(
    claim, run, evidence, other, fails
):
    values = {("this", "long"): 1.0, ("this", "short"): 1.0}
    values |= {("other", "long"): 2.0 * other, ("other", "short"): 1.0 * other + 1.0}
    made = [
        run({"model": model, "length": length}, 0, **{"probe/x": x}) | {"cell": cell}
        for cell, ((model, length), x) in enumerate(values.items())
    ]
    arms = {"treatment": {"length": "long"}, "baseline": {"length": "short"}}
    where = {"model": "this"}
    asked = claim(**{**OF, **arms, "margin": 0.0, "metric": "probe/x"}, where=where)
    factors = ["model", "length"]
    cases = conclude(evidence(made, asked, factors=factors))["claims"][0]["cases"]
    expected = ({"model": "other"}, pytest.approx(0.4)) if fails else None
    assert cases.get("elsewhere") == expected

"""Claims that must hold in every case."""

import math

import numpy as np
import pytest

from ablate.verdict.kinds import kind_of

ALONE = {
    **{"kind": "exact", "metric": "probe/excess", "treatment": {}, "baseline": {}},
    "margin": 0.0,
}


def examine(claim, evidence):
    return kind_of(claim).find(claim, evidence).cases


@pytest.fixture
def probed(run):
    def make(*values, level="post_ln"):
        return [
            run({"model/residual": level}, i, **{"probe/excess": v}) for i, v in enumerate(values)
        ]

    return make


@pytest.mark.parametrize(
    ("values", "tolerance", "verdict"),
    [
        ((0.0, 0.0), 0.0, "supported"),
        ((0.0, -3.0), 0.0, "refuted"),
        ((1e-9, -1e-9), 1e-8, "supported"),
        ((0.0, math.nan), 0.0, "refuted"),
        ((), 0.0, "inconclusive"),
    ],
)
def test_all_cases_or_not_at_all(claim, probed, evidence, values, tolerance, verdict):
    outcome = examine(claim(**ALONE, tolerance=tolerance), evidence(probed(*values)))
    assert outcome.verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict", "worst"),
    [((0.05, -3.0), "supported", 0.05), ((0.15, -3.0), "refuted", 0.15)],
)
def test_where_lower_is_better_a_value_below_the_tolerance_holds(
    claim, probed, evidence, values, verdict, worst
):
    outcome = examine(claim(**ALONE, tolerance=0.1, better="lower"), evidence(probed(*values)))
    assert (outcome.verdict, outcome.effect) == (verdict, worst)


@pytest.mark.parametrize(
    ("values", "verdict", "worst"),
    [
        ((0.5, -3.0), "supported", 0.5),
        ((0.5, 0.1), "refuted", 0.1),
        ((0.5, math.inf), "refuted", 0.5),
        ((), "inconclusive", pytest.approx(math.nan, nan_ok=True)),
    ],
)
def test_with_a_margin_every_case_must_be_away_from_0(
    claim, probed, evidence, values, verdict, worst
):
    outcome = examine(claim(**{**ALONE, "margin": 0.2}), evidence(probed(*values)))
    assert (outcome.verdict, outcome.effect) == (verdict, worst)


def test_runs_that_were_not_measured_do_not_count(claim, probed, run, evidence):
    runs = [
        *probed(0.0),
        run({"model/residual": "a"}, 1, "diverged"),
        run({"model/residual": "a"}, 2, "failed"),
    ]
    outcome = examine(claim(**ALONE), evidence(runs))
    assert (outcome.verdict, len(outcome.counted), len(outcome.cases)) == ("supported", 1, 2)


def test_null_is_a_level(claim, run, evidence):
    values = {None: 0.0, 16: 5.0}
    runs = [run({"model.d_head": d}, 0, **{"probe/excess": v}) for d, v in values.items()]
    of = {
        d: examine(claim(**ALONE, where={"model.d_head": d}), evidence(runs)).verdict
        for d in values
    }
    assert of == {None: "supported", 16: "refuted"}


@pytest.mark.parametrize(("moved", "verdict"), [(0.5, "supported"), (0.0005, "inconclusive")])
def test_a_control_at_rest_proves_nothing(claim, run, evidence, moved, verdict):
    runs = [run({"a": 1}, 0, **{"probe/excess": 0.0, "probe/control": moved})]
    outcome = examine(claim(**ALONE, control="probe/control"), evidence(runs))
    assert outcome.verdict == verdict


@pytest.mark.parametrize(("gap", "verdict"), [(0.0, "supported"), (0.1, "refuted")])
def test_two_arms_must_agree_on_every_seed(claim, arms, evidence, gap, verdict):
    runs = arms([1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + gap])
    outcome = examine(claim(kind="exact", margin=0.0, tolerance=0.05), evidence(runs))
    assert outcome.verdict == verdict
    assert outcome.effect == pytest.approx(gap)


def test_translations_must_be_the_same(claim, translated, evidence):
    runs, statistics = translated(2)
    asked = claim(kind="exact", metric="test/changed", margin=0.0)
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
    outcome = examine(claim(kind="exact", margin=0.0), evidence(runs, factors=factors))
    assert [(case.seed, case.value) for case in outcome.cases] == [(0, 0.0), (0, 0.0), (1, 0.0)]

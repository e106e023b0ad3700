"""The figure of a screen: gains have the sign of the variant, whichever way round a claim asks."""

import numpy as np
import pytest

from ablate.evidence.folder import Evidence
from ablate.record.files import finite
from ablate.report.draw import style
from ablate.report.figures import figures
from ablate.report.forest import BETTER, NOT_BETTER, NOT_WORSE, OPEN, WORSE, _shows, components
from ablate.verdict.conclude import conclude

from .conftest import CLAIM, STUDY, make_run

GAINS = {"good": 0.2, "bad": -0.2, "lost": -0.3, "same": 0.0, "unclear": 0.02}
SEEDS = range(8)


def claim(name, **more):
    sides = {"treatment": {"variant": name}, "baseline": {"variant": "baseline"}}
    asked = {"id": name, "metric": "test/nll", "better": "lower", "margin": 0.05}
    return {**CLAIM, **asked, **sides, **more}


@pytest.fixture(scope="module")
def evidence():
    claims = [
        claim("good"),
        claim("bad", better="higher"),
        claim(
            "lost",
            kind="non_inferiority",
            treatment={"variant": "baseline"},
            baseline={"variant": "lost"},
        ),
        claim("same", kind="equivalence"),
        claim("unclear"),
    ]
    screen = {
        **{"variants": {name: {"model.bias": False} for name in GAINS}, "claims": {}},
        **{"kind": "superiority", "metric": "test/nll", "better": "lower", "margin": 0.05},
        **{"margin_reason": "none", "alpha": 0.05, "source": "none"},
    }
    study = {**STUDY, "factors": ["variant"], "claims": claims, "screen": screen, "seeds": 8}
    runs = [_run(arm, seed) for arm in ("baseline", *GAINS) for seed in SEEDS]
    return Evidence.made_up(study, runs)


def _run(arm, seed):
    noise = np.random.default_rng([seed, len(arm)]).normal(scale=0.1 if arm == "unclear" else 0.01)
    values = {"test/nll": 2 - GAINS.get(arm, 0.0) + noise, "unigram_nll": 3.3, "val/nll": 2.0}
    return make_run(arm, seed, factor="variant", **values)


def test_gains_are_those_of_the_variants_and_sorted(evidence):
    rows = components(evidence, conclude(evidence))
    assert [row.effect for row in rows] == sorted((row.effect for row in rows), reverse=True)
    for row in rows:
        assert row.effect == pytest.approx(GAINS[row.name], abs=0.1)
        low, high = row.interval
        assert low <= row.effect <= high
    marks = {row.name: row.shows for row in rows}
    assert marks == {
        **{"good": BETTER, "bad": WORSE, "same": NOT_WORSE, "unclear": OPEN},
        "lost": WORSE,  # its claim asks whether the baseline loses something
    }


@pytest.mark.parametrize(
    ("kind", "sign", "verdict", "grade", "interval", "shows"),
    [
        ("non_inferiority", 1, "supported", "", [0.01, 0.09], NOT_WORSE),
        ("non_inferiority", 1, "supported", "", [0.06, 0.09], BETTER),
        ("non_inferiority", -1, "supported", "", [-0.01, 0.01], NOT_BETTER),
        ("equivalence", -1, "supported", "", [-0.01, 0.01], NOT_WORSE),
        ("superiority", 1, "refuted", "too small to matter", [-0.2, 0.01], NOT_BETTER),
        ("superiority", -1, "refuted", "too small to matter", [-0.2, 0.01], NOT_WORSE),
        ("superiority", 1, "refuted", "the other way round", [-0.2, -0.1], WORSE),
    ],
)
def test_a_mark_says_which_large_differences_are_excluded(
    kind, sign, verdict, grade, interval, shows
):
    answer = {"verdict": verdict, "grade": grade, "interval": interval, "effect": sum(interval) / 2}
    assert _shows(claim("any", kind=kind, **answer), sign) == shows


@pytest.mark.parametrize("kind", ["superiority", "equivalence", "non_inferiority"])
@pytest.mark.parametrize(("failing", "shows"), [("good", WORSE), ("baseline", BETTER)])
def test_rates_of_failed_runs_decide_a_mark_against_the_mean(evidence, kind, failing, shows):
    """Most runs of an arm diverge. In the others, the arm is better."""
    asked = claim("good", kind=kind)
    study = {**evidence.study, "claims": [asked]}
    runs = [_run(arm, seed) for arm in ("baseline", "good") for seed in SEEDS]
    for run in runs:
        run["metrics"]["test/nll"] += 0.5 * (run["arm"] != failing)
        if run["arm"] == failing and run["seed"] > 1:
            run["status"] = "diverged"
    made_up = Evidence.made_up(study, runs)
    verdict = conclude(made_up)
    assert verdict["claims"][0]["decided_by_failures"]
    (row,) = components(made_up, verdict)
    assert (row.effect > 0) == (failing == "good")
    assert row.shows == shows


def test_a_figure_stands_first_and_studies_without_a_screen_have_none(evidence):
    with style():
        drawn = [*figures(evidence, finite(conclude(evidence)))]
        assert drawn[0].name == "components"
        axes = drawn[0].picture.get_axes()
    names = [label.get_text() for panel in axes for label in panel.get_yticklabels()]
    assert names[0] == "good" and set(names) == set(GAINS)
    study = {key: value for key, value in evidence.study.items() if key != "screen"}
    plain = Evidence.made_up(study, evidence.runs)
    assert not components(plain, conclude(plain))

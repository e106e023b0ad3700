"""Planned looks: where they lie, and which arms are not arms_to_continue after one."""

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.registration import planned_looks
from ablate.verdict.conclude import arms_to_continue, check_study, conclude, conditional_power

from .conftest import codes, only

ARMS = {"post_ln": 10.0, "pre_ln": 500.0, "other": 10.1, "none": 2.0}
OFF = (0.3, -0.3, 0.1, -0.1)  # of an arm that goes nowhere


@pytest.mark.parametrize(
    ("seeds", "looks", "ends"),
    [(10, 3, [4, 7, 10]), (16, 4, [4, 8, 12, 16]), (14, None, [5, 10, 14]), (9, None, [9])],
)
def test_looks_lie_evenly(claim, seeds, looks, ends):
    study = {"seeds": seeds, "looks": looks, "claims": [claim()]}
    check_study({"factors": ["model/residual"], **study})
    assert planned_looks(study) == ends
    assert planned_looks({**study, "claims": [claim(kind="exact")]})[-1] == seeds


@pytest.mark.parametrize(("seeds", "looks"), [(9, 2), (10, 4)])
def test_looks_at_too_few_seeds_are_refused(claim, seeds, looks):
    with pytest.raises(UserError, match=f"looks={looks}"):
        check_study(
            {"factors": ["model/residual"], "seeds": seeds, "looks": looks, "claims": [claim()]}
        )


def test_conditional_power_is_that_of_simulated_trends():
    rng, share, p, level = np.random.default_rng(0), 0.4, 0.05, 0.025
    so_far = 1.6449 * share**0.5
    rest = rng.normal(so_far / share * (1 - share), (1 - share) ** 0.5, 200_000)
    assert conditional_power(p, share, level) == pytest.approx(
        (so_far + rest > 1.96).mean(), abs=4e-3
    )
    assert conditional_power(0.5, 0.5, level) == pytest.approx(0.0028, abs=1e-4)


@pytest.fixture
def study(run, claim, evidence):
    """Four of twelve seeds of four arms, and claims about some of them."""

    def make(*claims, seeds=range(4)):
        rng = np.random.default_rng(0)
        runs = [
            run({"model/residual": arm}, s, **{"test/nll": level + rng.normal(0, 0.3)})
            for arm, level in ARMS.items()
            for s in seeds
        ]
        runs += [
            run({"model/residual": "flat"}, s, **{"test/nll": runs[s]["metrics"]["test/nll"] + x})
            for s, x in zip(seeds, OFF, strict=True)
        ]
        asked = [claim(id=str(number), **changes) for number, changes in enumerate(claims)]
        return evidence(runs, *asked, seeds=12, looks=3, registration={"asked": {}})

    return make


def arm(name):
    return {"model/residual": name}


CLEAR = {"treatment": arm("pre_ln")}  # decided after four seeds
OPEN = {"treatment": arm("other"), "kind": "equivalence", "margin": 0.4}
HOPELESS = {"treatment": arm("flat"), "margin": 0.0}


EXACT = {"kind": "exact", "treatment": {}, "baseline": {}, "margin": 0.0}


@pytest.mark.parametrize(
    ("claims", "arms"),
    [
        ([CLEAR], set()),
        ([CLEAR, OPEN], {"post_ln", "other"}),
        ([OPEN | {"loses": arm("none")}], {"post_ln", "other", "none"}),
        ([OPEN, EXACT], {"post_ln", "other"}),
        ([HOPELESS], set()),
    ],
)
def test_an_arm_ends_when_every_claim_on_it_is_over(study, claims, arms):
    assert {levels["model/residual"] for levels in arms_to_continue(study(*claims))} == arms


def test_a_verdict_says_what_looks_have_saved(study):
    assert only(study(HOPELESS))["verdict"] == "inconclusive"
    clear, still_open = (codes(conclude(study(runs))) for runs in (CLEAR, OPEN))
    assert {*clear["stopped_early"]["arms"].values()} == {4}
    assert "seeds_missing" not in clear and "stopped_early" not in still_open
    assert still_open["seeds_missing"] == {"planned": 12, "ended": 4}

"""What claims could see, before any run."""

import math
from dataclasses import replace

import numpy as np
import pytest
from omegaconf import OmegaConf

from ablate.evidence.folder import Evidence
from ablate.plan.noise import Noise
from ablate.plan.plan import Arm, Plan
from ablate.plan.power import sensitivities
from ablate.plan.registry import Cost, RunSignature
from ablate.plan.wording import _sensitivities as format_sensitivities
from ablate.plan.wording import as_data, solved
from ablate.stats.estimate import Estimate
from ablate.stats.estimate import estimate as estimate_of
from ablate.sweep.cell import Cell
from ablate.verdict.kind import kind_of

ARMS = [{"norm": norm, "warmup": warmup} for norm in ("pre", "post") for warmup in (True, False)]
CLAIM = {
    "id": "mine",
    "kind": "superiority",
    "metric": "test/bleu",
    "better": "higher",
    "where": {"warmup": True},
    "treatment": {"norm": "pre"},
    "baseline": {"norm": "post"},
    "minus": {},
    "over": "",
    "scale": "linear",
    "margin": 2.0,
    "alpha": 0.05,
}
NOISE = {"test/bleu": Noise(seed=1.0, difference=1.2, sentence=0.1, sentences=500, runs=9)}


@pytest.fixture
def seen():
    def planned(*claims, seeds=8, runs=(), noise=NOISE, arms=ARMS):
        claims = [CLAIM | claim for claim in claims]
        study = {"factors": ["norm", "warmup"], "claims": claims, "seeds": seeds}
        return sensitivities(arms, seeds, Evidence("", study, {}, {}, [*runs]), noise)

    return planned


def test_a_claim_sees_what_its_rule_says_for_that_noise(seen):
    (estimate,) = seen({})
    alone = Estimate(0.0, 8, 500, 1.2**2, 0.1**2, skewness=0.0)
    assert estimate.least == pytest.approx(kind_of(CLAIM).detectable(CLAIM, alone, 0.05))
    assert estimate.plan == kind_of(CLAIM).seeds_needed(CLAIM, alone, 0.05)["supported"]
    assert seen({}, seeds=20)[0].least < estimate.least


def test_more_runs_in_a_contrast_bring_more_noise_and_averaging_less(seen):
    simple, interaction, averaged = seen({}, {"minus": {"warmup": False}}, {"where": {}})
    assert interaction.least == pytest.approx(math.sqrt(2) * simple.least, rel=1e-3)
    assert averaged.least == pytest.approx(simple.least / math.sqrt(2), rel=1e-3)


def test_several_claims_share_alpha_but_exact_ones_take_none(seen):
    exact = {"kind": "exact"}
    assert seen({}, exact)[0].least == seen({})[0].least < seen({}, {})[0].least
    assert seen({}, exact)[1].noise == "every case is checked"


def test_earlier_pairs_of_the_same_arms_come_before_the_regime(seen):
    runs = [
        {
            "levels": ARMS[arm],
            "seed": seed,
            "status": "finished",
            "identity": "",
            "metrics": {"test/bleu": 30 + (arm == 0) * shift},
        }
        for arm in (0, 2)
        for seed, shift in enumerate([0.0, 10.0, 20.0])
    ]
    (estimate,) = seen({}, runs=runs)
    assert estimate.noise.endswith("3 earlier pairs of these arms")
    assert estimate.least > 5 * seen({})[0].least
    assert seen({}, runs=runs, seeds=32)[0].least < 0.7 * estimate.least


def test_the_skewness_of_earlier_runs_is_as_uncertain_as_their_number_makes_it(seen):
    def earlier(values):
        return [
            {
                "levels": ARMS[arm],
                "seed": seed,
                "status": "finished",
                "identity": "",
                "metrics": {"test/bleu": 30 + seed / 10 + (arm == 0) * value},
            }
            for arm in (0, 2)
            for seed, value in enumerate(values)
        ]

    values = [0.0, 0.1, 0.2, 4.0]
    (estimate,) = seen({}, runs=earlier(values), seeds=30)
    differences = np.array(values)
    plus = 30 + np.arange(4) / 10 + differences
    alone = replace(estimate_of(differences, plus=plus), effect=0.0)
    kind = kind_of(CLAIM)
    assert estimate.least == pytest.approx(kind.detectable(CLAIM, alone, 0.05, 30))
    assert estimate.least > kind.detectable(CLAIM, replace(alone, pairs=30), 0.05)


def test_earlier_runs_that_failed_to_learn_are_left_out_as_in_a_verdict(seen):
    def earlier(*failed):
        scores = ([30.0, 30.4, 31.0, 30.1], [29.0, 29.9, 29.2, 29.4])
        run = {"status": "finished", "identity": ""}
        runs = [
            {**run, "levels": ARMS[arm], "seed": seed, "metrics": {"test/bleu": score}}
            for arm, of_arm in zip((0, 2), scores, strict=True)
            for seed, score in enumerate(of_arm)
        ]
        lost = {"status": "collapsed", "identity": "", "levels": ARMS[2], "metrics": {}}
        whole = {**run, "levels": ARMS[0], "metrics": {"test/bleu": 30.5}}
        return [*runs, *({**each, "seed": seed} for seed in failed for each in (lost, whole))]

    (without,), (beside,) = seen({}, runs=earlier()), seen({}, runs=earlier(4, 5))
    assert (beside.least, beside.plan) == (without.least, without.plan)
    assert beside.noise == without.noise == "by 4 earlier pairs of these arms"


def test_what_is_not_known_is_said(seen):
    assert seen({}, noise={})[0].noise.startswith("no earlier runs")
    assert seen({}, seeds=1)[0].noise.startswith("a single seed")
    assert seen({}, noise={})[0].least is None


def test_the_noise_of_a_metric_is_not_that_of_an_exponent(seen):
    study = {"kind": "trend", "over": "warmup", "treatment": {}, "baseline": {}, "where": {}}
    arms = [{"norm": "pre", "warmup": steps} for steps in (10, 20)]
    slope, exponent = (seen(study | {"scale": scale}, arms=arms)[0] for scale in ("log", "log_log"))
    assert slope.least > 0
    assert exponent.least is None
    assert exponent.noise.endswith("how much the logarithm varies")


def test_claims_of_other_kinds_are_planned_by_their_own_rules(seen):
    same, stable = seen(
        {"kind": "equivalence"},
        {"kind": "stability", "metric": "unstable", "margin": 0.0},
        seeds=12,
    )
    assert same.plan.effect == 0
    assert 0 < stable.least <= 1
    assert stable.plan.effect == 0.2  # of the runs, where no effect is named


def test_seeds_that_are_too_few_for_any_rate_are_not_called_unknown_noise(seen):
    stable = {"kind": "stability", "metric": "diverged", "better": "lower", "margin": 0.0}
    text = format_sensitivities(seen(stable, stable | {"id": "second"}, seeds=3))
    assert not any("unknown" in line for line in text)
    assert "no difference, the seeds are too few; if the true effect is 0.2," in text[2]


def planned(seeds, threads=1):
    config = OmegaConf.create({"name": "x", "threads": threads})
    kin = RunSignature(arm="a", variant="a", size="a", regime="a")
    cell = Cell(number=0, label="a=1", overrides=(), arm=config)
    arm = Arm(cell, seeds, 0, 1, 1, kin, None, 1, Cost(10.0, known_by="3 earlier runs"))
    return Plan(config, None, [], [arm], seeds, "", 0, 1)


def test_claims_of_one_id_are_named_by_their_readings(seen):
    sensitivities = seen({"reading": "early", "effect": 2.5}, {"reading": "late", "effect": 2.5})
    plan = planned(2)
    assert [claim["reading"] for claim in as_data(plan, sensitivities)["claims"]] == [
        "early",
        "late",
    ]
    assert "these seeds decide: mine (early), mine (late)." in solved(plan, 5, sensitivities)
    doubtful = [replace(sensitivity, one_way="too large") for sensitivity in sensitivities]
    assert "  mine (early): too large" in format_sensitivities(doubtful)


def test_a_single_seed_is_not_called_unknown_variation(seen):
    text = solved(planned(1), 5, seen({}, seeds=1))
    assert "A single seed cannot decide these claims: mine." in text
    assert "unknown" not in text
    assert "variation is unknown for: mine." in solved(planned(8), 5, seen({}, noise={}))


def test_core_time_counts_threads():
    assert planned(3).seconds == 30.0
    assert planned(3, threads=2).seconds == 60.0

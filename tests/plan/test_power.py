"""What claims could see, before any run."""

import math
from unittest.mock import Mock

import pytest
from hydra.types import HydraContext
from omegaconf import OmegaConf

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import reason
from ablate.plan.plan import Arm, Plan
from ablate.plan.power import power_table, sensitivities_of, untuned_rates
from ablate.stats.estimate import Estimate
from ablate.stats.power import CORRELATION, PlannedNoise
from ablate.sweep.cell import Cell
from ablate.sweep.compose import PlannedSweep
from ablate.verdict.kinds import kind_of
from ablate.verdict.types import LARGE
from ablate.words.reasons import sentence
from lab.calibration.moderation import moderated, power

NO_CONTEXT = HydraContext(config_loader=Mock(), callbacks=Mock())
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


@pytest.fixture
def seen():
    def planned(*claims, seeds=8, runs=(), deviation=0.0):
        claims = [CLAIM | claim for claim in claims]
        study = {"factors": ["norm", "warmup"], "claims": claims, "seeds": seeds}
        cells = [Mock(spec=Cell, levels=arm, seed=n) for arm in ARMS for n in range(seeds)]
        sweep = PlannedSweep(NO_CONTEXT, OmegaConf.create(), study, cells, cells, [], {})
        arms = [Arm(levels, [], 0, None) for levels in ARMS]
        earlier = Evidence("", study, {}, {}, [*runs]) if runs else None
        return sensitivities_of(Plan(sweep, ([], arms), 1, earlier), deviation)

    return planned


def ended(arm, seed, score, status="finished"):
    metrics = {} if score is None else {"test/bleu": score}
    return {
        **{"levels": ARMS[arm], "seed": seed, "status": status, "identity": ""},
        "metrics": metrics,
    }


def earlier(*differences):
    runs = [(arm, seed, d if arm == 0 else 0.0) for arm in (0, 2) for seed, d in differences]
    return [ended(arm, seed, 30 + seed / 10 + shift) for arm, seed, shift in runs]


def test_without_earlier_runs_effects_are_in_standard_deviations_of_the_difference(seen):
    (claim,) = seen({})
    assert (claim.unit, claim.seeds_needed) == ("standard deviations", None)
    alone = Estimate(0.0, 8, 0, 1.0, 0.0, skewness=0.0)  # of two arms, which borrow nothing
    assert claim.detectable[8] < 0.98 * kind_of(CLAIM).detectable(CLAIM, alone, 0.05)
    assert [*claim.detectable] == [4, 8, 16, 32]
    assert [*seen({}, seeds=12)[0].detectable] == [4, 8, 12, 16, 32]


def test_earlier_pairs_of_the_arms_tell_how_much_runs_vary(seen):
    (claim,) = seen({}, runs=earlier(*enumerate([0.0, 10.0, 20.0, 10.0])))
    (double,) = seen({}, runs=earlier(*enumerate([0.0, 20.0, 40.0, 20.0])))
    assert claim.seeds_needed < double.seeds_needed
    for seeds, least in claim.detectable.items():
        assert double.detectable[seeds] == pytest.approx(2 * least, rel=1e-3)
    (two,), (unknown,) = seen({}, runs=earlier((0, 0.0), (1, 2.0))), seen({})
    for seeds, least in unknown.detectable.items():  # the rule of a verdict from more seeds
        assert two.detectable[seeds] == pytest.approx(2**0.5 * least, rel=1e-3)


def test_an_assumed_deviation_of_runs_gives_effects_in_the_unit_of_the_metric(seen):
    claims = ({}, {"where": {}}, {"where": {}, "minus": {"warmup": False}}, {"metric": "test/nll"})
    *assumed, other = seen(*claims, deviation=3.0)
    (size, *_), *_ = ([*each.detectable.values()] for each in seen(*claims))
    of_difference = 3.0 * (2 * (1 - CORRELATION)) ** 0.5
    for claim, factor in zip(assumed, (1.0, 0.5**0.5, 1.5**0.5), strict=True):
        assert claim.detectable[4] == pytest.approx(factor * of_difference * size, rel=1e-3)
        assert claim.seeds_needed
    assert other.detectable[4] == pytest.approx(size) and other.seeds_needed is None
    runs = earlier(*enumerate([0.0, 10.0, 20.0, 10.0]))
    assert seen({}, runs=runs, deviation=3.0) == seen({}, runs=runs)


def test_runs_that_failed_to_learn_are_left_out_as_in_a_verdict(seen):
    runs = earlier(*enumerate([0.0, 1.0, 2.0, 1.0]))
    lost = [ended(0, 4, 30.5), ended(2, 4, None, "collapsed")]
    assert seen({}, runs=[*runs, *lost])[0].detectable == seen({}, runs=runs)[0].detectable


def test_several_claims_share_alpha_but_exact_ones_take_none(seen):
    exact = {"kind": "exact"}
    (alone,) = seen({}, exact)
    assert alone.detectable == seen({})[0].detectable
    assert alone.detectable[8] < seen({}, {})[0].detectable[8]


def test_claims_of_failed_runs_are_planned_by_exact_tests(seen):
    stability = {"kind": "stability", "metric": "diverged", "better": "lower", "margin": 0.0}
    (stable,) = seen(stability)
    assert stable.detectable[4] is None or stable.detectable[4] > stable.detectable[32]
    assert 0 < stable.detectable[32] <= 1
    assert 8 < stable.seeds_needed < 100  # for 0.2 of the runs, where no effect is named


def test_a_part_of_a_study_has_no_power_and_equal_claims_share_a_line(seen):
    lines = power_table(seen({}, {"reading": "late"}, {"kind": "equivalence"}), 8)
    assert [line.split("  ")[0] for line in lines[1:3]] == ["mine and 1 more", "mine"]
    assert math.isfinite(seen({})[0].detectable[8])


@pytest.mark.parametrize(("seeds", "warned"), [(1, True), (2, True), (6, False)])
def test_a_plan_says_that_its_seeds_are_too_few_to_decide_anything(seen, seeds, warned):
    table_and_unit = 3  # lines
    assert len(power_table(seen({}, seeds=seeds), seeds)) == table_and_unit + warned
    assert len(power_table(seen({}, seeds=seeds, deviation=3.0), seeds)) == 2 + warned


def test_measured_variation_decides_instead_of_the_number_of_seeds(seen):
    runs = earlier(*enumerate((1.0, 1.1, 0.9, 1.0)))
    assert len(power_table(seen({}, seeds=3, runs=runs), 3)) == 2


@pytest.mark.parametrize(("probe", "warned"), [(None, True), ("parameter_count", False)])
def test_a_plan_names_the_rates_that_are_not_tuned_as_the_report_does(probe, warned):
    arm = OmegaConf.create({"probe": probe, "optimizer": {"lr": 0.005}})
    cells = [Mock(spec=Cell, arm=arm)] * 2
    caveat = [sentence(reason("not_tuned", rates=[0.005]))]
    for study, asked in (({}, True), ({"tune": {"key": "optimizer.lr"}}, False)):
        study = {"factors": ["norm"], "claims": []} | study
        sweep = PlannedSweep(NO_CONTEXT, OmegaConf.create(), study, cells, cells, [], {})
        assert untuned_rates(Plan(sweep, ([], []), 1, None)) == caveat * (warned and asked)


@pytest.mark.parametrize("further", [False, True])
def test_forecast_before_any_run_is_the_power_of_simulated_studies(further):
    """The margin and the unit are a standard deviation of a paired difference."""
    ratio = 12**0.5 if further else 1.0
    forecast = kind_of(CLAIM).power(LARGE, PlannedNoise(13, ratio), 1.0, 2.0, 5, 0.05)
    assert forecast == pytest.approx(power(moderated, 13, 5, 2000, further=further), abs=0.03)

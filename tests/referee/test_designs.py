"""Designs of a study: datasets, interactions, trends, failures."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ablate
from ablate.stats.estimate import estimate


def frame(**columns):
    return pd.DataFrame(columns)


def drawn(arms, runs=6, seed=0, **more):
    """Runs of arms with these means; more columns are given per row."""
    random = np.random.default_rng(seed)
    names = np.repeat([*arms], runs)
    loss = np.repeat([*arms.values()], runs) + 0.1 * random.standard_normal(len(names))
    return pd.DataFrame({"arm": names, "loss": loss, "seed": [*range(runs)] * len(arms), **more})


ASKED = {"arm": "arm", "metric": "loss", "better": "lower"}


def claims_of(runs, **asked):
    return ablate.compare(runs, **{**ASKED, **asked}).to_dict()["claims"]


def codes_of(runs, **asked):
    """The values of each caveat by its code."""
    caveats = ablate.compare(runs, **{**ASKED, **asked}).to_dict()["caveats"]
    return {caveat["code"]: caveat["values"] for caveat in caveats}


def failed(claim):
    return [count["runs"] for count in claim["failed_to_learn"].values()]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_pairs_are_matched_by_the_column_and_incomplete_ones_do_not_enter(better):
    runs = drawn({"a": 1.0, "b": 0.9}, 8)
    whole = runs.pivot(index="seed", columns="arm", values="loss").iloc[1:]
    runs = runs[~((runs.arm == "b") & (runs.seed == 0))].sample(frac=1, random_state=1)
    asked = {"better": better, "treatment": "b", "baseline": "a", "pair": "seed"}
    (claim,) = claims_of(runs, **asked, test="textbook")
    side = "less" if better == "lower" else "greater"
    p = stats.ttest_rel(whole.b, whole.a, alternative=side).pvalue
    assert claim["p"]["supported"] == pytest.approx(p, rel=1e-9)
    assert codes_of(runs, **asked)["pairs_incomplete"] == {"pairs": 1}
    plus, minus = (whole.a, whole.b) if better == "lower" else (whole.b, whole.a)
    ours = estimate((plus - minus).to_numpy(), added=plus.to_numpy())  # as a sweep's seeds
    (claim,) = claims_of(runs, **asked)
    assert claim["p"]["supported"] == pytest.approx(ours.p_at_most(0.0), rel=1e-6)
    assert claim["interval"] == pytest.approx(ours.interval(0.95), rel=1e-9)


def test_each_dataset_has_a_verdict_corrected_for_their_number():
    parts = [drawn({"a": 1.0, "b": 0.8 - k / 10}, seed=k).assign(task=f"t{k}") for k in range(4)]
    claims = claims_of(pd.concat(parts), treatment="b", baseline="a", group="task")
    assert [claim["reading"] for claim in claims] == ["t0", "t1", "t2", "t3"]
    for claim, runs in zip(claims, parts, strict=True):
        (alone,) = claims_of(runs, treatment="b", baseline="a")
        assert claim["p"] == alone["p"]
        assert claim["p_adjusted"]["supported"] >= alone["p_adjusted"]["supported"]
    assert claims[0]["p_adjusted"] != claims[0]["p"]


def test_an_interaction_is_a_difference_of_differences():
    wide = drawn({"a": 1.0, "b": 0.5}, seed=1).assign(width=512)
    small = drawn({"a": 1.0, "b": 0.9}, seed=2).assign(width=128)
    asked = {"treatment": "b", "baseline": "a", "where": {"width": 512}, "minus": {"width": 128}}
    study = {**ASKED, "claims": [asked]}
    (claim,) = ablate.judge(pd.concat([wide, small]), study).to_dict()["claims"]
    means = [part.groupby("arm").loss.mean() for part in (wide, small)]
    assert claim["effect"] == pytest.approx((means[0].a - means[0].b) - (means[1].a - means[1].b))
    assert claim["verdict"] == "supported"
    (alone,) = ablate.compare(pd.concat([wide, small]), **ASKED, **asked).to_dict()["claims"]
    assert alone["effect"] == claim["effect"]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_trend_is_the_slope_over_a_column(scale):
    x = np.repeat([64, 128, 256, 512], 5)
    loss = 3 - 0.1 * np.log2(x) + 0.02 * np.random.default_rng(0).standard_normal(20)
    asked = {"metric": "loss", "better": "lower", "kind": "trend", "over": "width", "scale": scale}
    (claim,) = ablate.compare(frame(width=x, loss=loss), **asked).to_dict()["claims"]
    theirs = stats.linregress(np.log2(x) if scale == "log" else x, loss, alternative="less")
    assert claim["p"]["supported"] == pytest.approx(theirs.pvalue, rel=1e-9)
    assert claim["effect"] == pytest.approx(-theirs.slope, rel=1e-9)


def test_a_claim_about_every_run_is_refuted_by_a_single_other_one():
    runs = drawn({"a": 1.0, "b": 0.5}, 8)
    runs.loc[runs.arm == "b", "loss"] = runs.loc[runs.arm == "a", "loss"].to_numpy() + 1e-9
    asked = {"kind": "exact", "treatment": "b", "baseline": "a", "pair": "seed"}
    claims = [claims_of(runs, **asked, tolerance=x)[0] for x in (0.0, 1e-6)]
    assert [(claim["verdict"], claim["cases"]["broken"]) for claim in claims] == [
        ("refuted", 8), ("supported", 0)
    ]  # fmt: skip
    runs.loc[runs.index[-1], "loss"] = math.nan
    assert claims_of(runs, **asked, tolerance=1e-6)[0]["cases"]["broken"] == 1
    target = claims_of(runs[runs.arm == "a"], kind="exact", target=1.0, tolerance=0.5)
    assert target[0]["verdict"] == "supported"


def test_an_exact_claim_checks_the_pairs_that_are_complete():
    runs = pd.DataFrame({"arm": [*"aaaabbbb"], "seed": [0, 1, 2, 3, 0, 1, 2, 9], "loss": 1.0})
    (claim,) = ablate.compare(
        runs, **ASKED, treatment="b", baseline="a", kind="exact", pair="seed"
    ).to_dict()["claims"]
    assert (claim["verdict"], claim["cases"]["counted"]) == ("supported", 3)


def test_an_exponent_is_the_slope_of_logarithms():
    width = np.repeat([64.0, 128.0, 256.0], 4)
    loss = 9 * width**-0.25 * np.tile([0.99, 1.0, 1.0, 1.01], 3)
    runs = pd.DataFrame({"width": width, "loss": loss, "arm": "a"})
    asked = {"metric": "loss", "better": "lower", "kind": "trend", "over": "width"}
    (claim,) = ablate.compare(runs, **asked, scale="log_log").to_dict()["claims"]
    assert claim["effect"] == pytest.approx(0.25)


@pytest.mark.parametrize("value", [math.nan, None])
def test_runs_without_a_value_are_counted_and_their_rate_may_decide(value):
    runs = drawn({"a": 1.0, "b": 0.99}, 12)
    runs.loc[runs.index[:9], "loss"] = value
    (claim,) = claims_of(runs, treatment="b", baseline="a")
    assert claim["decided_by_failures"] and claim["verdict"] == "supported"
    assert failed(claim) == [0, 9]
    (left_out,) = claims_of(runs, treatment="b", baseline="a", missing="leave_out")
    assert "decided_by_failures" not in left_out


@pytest.mark.parametrize(("failed", "shared"), [([0], False), ([0, 1, 2, 12, 13], True)])
def test_the_mean_pays_for_failures_only_where_they_could_have_decided(failed, shared):
    runs = drawn({"a": 1.0, "b": 0.9}, 12)
    asked = {"treatment": "b", "baseline": "a"}
    runs.loc[runs.index[failed], "loss"] = math.nan
    (alone,) = claims_of(runs, **asked, missing="leave_out")
    (claim,) = claims_of(runs, **asked)
    assert "decided_by_failures" not in claim
    assert claim["p"]["supported"] == pytest.approx((2 if shared else 1) * alone["p"]["supported"])


@pytest.mark.parametrize(("value", "count"), [(6.9, 9), (5.0, 9), (3.0, 0)])
def test_runs_at_the_floor_or_on_a_plateau_have_failed_to_learn(value, count):
    runs = drawn({"a": 1.0, "b": 1.0}, 12)
    runs.loc[runs.index[:9], "loss"] = value
    (claim,) = claims_of(runs, treatment="b", baseline="a", floor=6.9)
    assert failed(claim) == [0, count]
    assert ("decided_by_failures" in claim) == bool(count)


def test_rates_of_marked_failures_are_compared_exactly():
    runs = drawn({"a": 1.0, "b": 1.0}, 12).assign(state=["crashed"] * 10 + ["finished"] * 14)
    asked = {"kind": "stability", "failed": {"state": ["crashed"]}}
    (claim,) = claims_of(runs, treatment="b", baseline="a", **asked)
    theirs = stats.barnard_exact([[10, 0], [2, 12]], alternative="greater").pvalue
    assert theirs * 0.999 < claim["p"]["supported"] < 2 * theirs  # ties count fully here


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(
        "arm: arm\nmetric: loss\nbetter: lower\n"
        "claims:\n- {id: b, treatment: b, baseline: a, margin: 0.1}\n"
    )
    return path


def test_the_command_judges_the_claims_of_a_study(ablate_command, study, tmp_path):
    runs = tmp_path / "runs.csv"
    drawn({"a": 1.0, "b": 0.5}).to_csv(runs, index=False)
    status, out, _ = ablate_command("judge", runs, study, "--json")
    assert status == 0
    assert [claim["verdict"] for claim in json.loads(out)["claims"]] == ["supported"]

"""Designs of a study: datasets, interactions, trends, stated noise, failures."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ablate
from ablate.errors import UserError
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
    assert any("1 incomplete" in sentence for sentence in claim["details"])
    plus, minus = (whole.a, whole.b) if better == "lower" else (whole.b, whole.a)
    ours = estimate((plus - minus).to_numpy(), plus=plus.to_numpy())  # as a sweep's seeds
    (claim,) = claims_of(runs, **asked)
    assert claim["p"]["supported"] == pytest.approx(ours.p_at_most(0.0), rel=1e-6)
    assert claim["interval"] == pytest.approx(ours.interval(0.95), rel=1e-9)


def test_the_reason_why_there_is_no_estimate_is_the_true_one():
    runs = drawn({"a": 1.0, "b": 0.9}, 4)
    asked = {"treatment": "b", "baseline": "a", "pair": "seed"}
    for shift, reason in ((4, "no pair has a value"), (3, "a single pair shows no variation")):
        moved = runs.assign(seed=runs.seed + shift * (runs.arm == "b"))
        assert reason in claims_of(moved, **asked)[0]["headline"].lower()
    trend = {"kind": "trend", "over": "width", "treatment": "a"}
    (claim,) = claims_of(runs.assign(width=64), **trend)
    assert "two values of its column" in claim["evidence"]


def test_each_dataset_has_a_verdict_corrected_for_their_number():
    parts = [drawn({"a": 1.0, "b": 0.8 - k / 10}, seed=k).assign(task=f"t{k}") for k in range(4)]
    claims = claims_of(pd.concat(parts), treatment="b", baseline="a", group="task")
    assert [claim["group"] for claim in claims] == ["t0", "t1", "t2", "t3"]
    for claim, runs in zip(claims, parts, strict=True):
        (alone,) = claims_of(runs, treatment="b", baseline="a")
        assert claim["p"] == alone["p"]
        assert claim["p_adjusted"]["supported"] >= alone["p_adjusted"]["supported"]
    assert claims[0]["p_adjusted"] != claims[0]["p"]


def test_a_baseline_by_columns_is_not_compared_with_itself():
    runs = drawn({"a": 1.0, "b": 0.5}).assign(lr=[0.1] * 6 + [0.2] * 6)
    (claim,) = claims_of(runs, baseline={"arm": "a"})
    assert [arm["arm"] for arm in claim["arms"]] == ["b", "arm=a"]
    with pytest.raises(UserError, match="6 runs belong to both"):
        claims_of(runs, treatment="a", baseline={"lr": 0.1})


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


def test_where_beside_a_list_of_claims_selects_rows_for_all_of_them():
    runs = drawn({"a": 1.0, "b": 0.5})
    study = {**ASKED, "where": {"seed": [0, 1, 2]}, "claims": [{"treatment": "b", "baseline": "a"}]}
    (claim,) = ablate.judge(runs, study).to_dict()["claims"]
    assert [arm["runs"] for arm in claim["arms"]] == [3, 3]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_trend_is_the_slope_over_a_column(scale):
    x = np.repeat([64, 128, 256, 512], 5)
    loss = 3 - 0.1 * np.log2(x) + 0.02 * np.random.default_rng(0).standard_normal(20)
    asked = {"metric": "loss", "better": "lower", "kind": "trend", "over": "width", "scale": scale}
    (claim,) = ablate.compare(frame(width=x, loss=loss), **asked).to_dict()["claims"]
    theirs = stats.linregress(np.log2(x) if scale == "log" else x, loss, alternative="less")
    assert claim["p"]["supported"] == pytest.approx(theirs.pvalue, rel=1e-9)
    assert claim["difference"] == pytest.approx(theirs.slope, rel=1e-9)


def test_runs_without_a_level_of_the_trend_are_counted():
    runs = frame(width=[1, 2, 3, None, np.inf], loss=[3.0, 2.5, 2.0, 2.1, 2.2])
    asked = {"metric": "loss", "better": "lower", "kind": "trend", "over": "width"}
    (claim,) = ablate.compare(runs, **asked).to_dict()["claims"]
    assert (
        "2 of 5 runs have no finite value of width, so the slope leaves them out."
        in (claim["trust"])
    )


def test_stability_has_no_number_as_baseline():
    runs = frame(arm=["a", "a", "b", "b"], loss=[1.0, 2.0, 1.0, None])
    asked = {"metric": "loss", "better": "lower", "arm": "arm", "kind": "stability"}
    with pytest.raises(UserError, match=r"baseline=0\.1: no run has this value in arm"):
        ablate.compare(runs, **asked, treatment="a", baseline=0.1)


@pytest.mark.parametrize("pair", ["seed", None])
def test_two_trends_are_subtracted_with_minus(pair):
    width = np.tile([64, 128, 256, 512], 12)
    random = np.random.default_rng(0)
    arm, seed = np.repeat(["a", "b"], 24), np.repeat(np.arange(12) % 6, 4)
    steeper = np.where(arm == "b", 0.3, 0.1)
    loss = 3 - steeper * np.log2(width) + 0.02 * random.standard_normal(48)
    claim = {"kind": "trend", "over": "width", "scale": "log", "where": {"arm": "b"}}
    study = {"metric": "loss", "better": "lower", **({"pair": pair} if pair else {})}
    runs = frame(arm=arm, width=width, seed=seed, loss=loss)
    judged = ablate.judge(runs, {**study, "claims": [{**claim, "minus": {"arm": "a"}}]})
    (entry,) = judged.to_dict()["claims"]
    slopes = [stats.linregress(np.log2(width)[arm == a], loss[arm == a]).slope for a in "ba"]
    assert entry["difference"] == pytest.approx(slopes[0] - slopes[1])
    assert entry["verdict"] == "supported"


def test_a_claim_about_every_run_is_refuted_by_a_single_other_one():
    runs = drawn({"a": 1.0, "b": 0.5}, 8)
    runs.loc[runs.arm == "b", "loss"] = runs.loc[runs.arm == "a", "loss"].to_numpy() + 1e-9
    asked = {"kind": "exact", "treatment": "b", "baseline": "a", "pair": "seed"}
    claims = [claims_of(runs, **asked, tolerance=x)[0] for x in (0.0, 1e-6)]
    assert [(claim["verdict"], claim["broken"]) for claim in claims] == [
        ("refuted", 8), ("supported", 0)
    ]  # fmt: skip
    runs.loc[runs.index[-1], "loss"] = math.nan
    assert claims_of(runs, **asked, tolerance=1e-6)[0]["broken"] == 1
    target = claims_of(runs[runs.arm == "a"], kind="exact", target=1.0, tolerance=0.5)
    assert target[0]["verdict"] == "supported"


@pytest.mark.parametrize(("slip", "message"), [
    ({"baseline": "a"}, "pair"),
    ({"baseline": "a", "pair": "seed", "tolerance": 1, "margin": 1}, "tolerance"),
    ({"kind": "superiority", "baseline": "a", "tolerance": 1}, "exact"),
    ({"kind": "trend", "over": "seed", "baseline": "a"}, "baseline=a"),
    ({"baseline": "a", "floor": 3, "missing": 9, "kind": "superiority"}, "floor"),
    ({"kind": "stability", "baseline": "a", "margin": 5}, "margin=5, but two rates"),
    ({"target": 1, "take": "best"}, "take needs"),
    ({"target": 1, "noise": {"sd": 1, "source": "a README", "df": 0}}, "noise.df=0"),
    ({"target": 1, "noise": {"source": "a README"}}, "noise.sd, which is missing"),
    (
        {
            "kind": "superiority",
            "treatment": "b",
            "baseline": "a",
            "pair": "seed",
            "noise": {"sd": 1, "source": "a README"},
        },
        "remove noise or pair",
    ),
    ({"target": 1, "run": "seed", "step": "seed", "by": "loss"}, "take=best"),
    ({"target": 1, "run": "seed", "step": "seed", "take": "best", "reach": 1}, "reach and take"),
])  # fmt: skip
def test_keys_that_do_not_go_together_are_refused(slip, message):
    asked = {"kind": "exact", **slip}
    with pytest.raises(UserError, match=message):
        claims_of(drawn({"a": 1.0, "b": 0.5}), **asked)


def test_stated_noise_is_a_z_test_and_noise_that_does_not_fit_is_named():
    runs = drawn({"a": 1.0}, 12)
    asked = {"target": 1.1, "noise": {"sd": 0.01, "source": "a README"}}
    (claim,) = claims_of(runs, **asked)
    z = (1.1 - runs.loss.mean()) * math.sqrt(12) / 0.01
    assert claim["p"]["supported"] == pytest.approx(stats.norm.sf(z), rel=1e-9)
    assert any("does not fit" in sentence for sentence in claim["trust"])
    (rates,) = claims_of(
        drawn({"a": 1.0, "b": 0.9}),
        **{**asked, "target": None},
        treatment="b",
        baseline="a",
        kind="stability",
    )
    assert not any("stated" in sentence for sentence in rates["trust"])


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_runs_without_a_value_are_counted_and_their_rate_may_decide(value):
    runs = drawn({"a": 1.0, "b": 0.99}, 12)
    runs.loc[runs.index[:9], "loss"] = value
    (claim,) = claims_of(runs, treatment="b", baseline="a")
    assert claim["decided_by_failures"] and claim["verdict"] == "supported"
    assert [arm["without_value"] for arm in claim["arms"]] == [0, 9]
    (left_out,) = claims_of(runs, treatment="b", baseline="a", missing="leave_out")
    assert not left_out["decided_by_failures"]
    with pytest.raises(UserError, match="refuse"):
        claims_of(runs, treatment="b", baseline="a", missing="refuse")


@pytest.mark.parametrize(("failed", "shared"), [([0], False), ([0, 1, 2, 12, 13], True)])
def test_the_mean_pays_for_failures_only_where_they_could_have_decided(failed, shared):
    runs = drawn({"a": 1.0, "b": 0.9}, 12)
    asked = {"treatment": "b", "baseline": "a"}
    runs.loc[runs.index[failed], "loss"] = math.nan
    (alone,) = claims_of(runs, **asked, missing="leave_out")
    (claim,) = claims_of(runs, **asked)
    assert not claim["decided_by_failures"]
    assert claim["p"]["supported"] == pytest.approx((2 if shared else 1) * alone["p"]["supported"])


@pytest.mark.parametrize(("value", "failed"), [(6.9, 9), (7.5, 9), (5.0, 9), (3.0, 0)])
def test_runs_at_the_floor_or_on_a_plateau_have_failed_to_learn(value, failed):
    runs = drawn({"a": 1.0, "b": 1.0}, 12)
    runs.loc[runs.index[:9], "loss"] = value
    (claim,) = claims_of(runs, treatment="b", baseline="a", floor=6.9)
    assert [arm["without_value"] for arm in claim["arms"]] == [0, failed]
    assert claim["decided_by_failures"] == bool(failed)


def test_rates_of_marked_failures_are_compared_exactly():
    runs = drawn({"a": 1.0, "b": 1.0}, 12).assign(state=["crashed"] * 10 + ["finished"] * 14)
    asked = {"kind": "stability", "failed": {"state": ["crashed"]}}
    (claim,) = claims_of(runs, treatment="b", baseline="a", **asked)
    theirs = stats.barnard_exact([[10, 0], [2, 12]], alternative="greater").pvalue
    assert theirs * 0.999 < claim["p"]["supported"] < 2 * theirs  # ties count fully here


def test_curves_are_compared_at_their_last_or_best_value_or_by_the_steps_to_a_target():
    rows = [
        {"arm": arm, "id": f"{arm}{seed}", "step": step, "loss": 4.0 - pace * step + seed / 50}
        for arm, pace in (("a", 0.1), ("b", 0.2))
        for seed in range(4)
        for step in range(11)
    ]
    asked = {"treatment": "b", "baseline": "a", "run": "id", "step": "step"}
    last, steps = (claims_of(pd.DataFrame(rows), **asked, **m)[0] for m in ({}, {"reach": 3.5}))
    assert last["difference"] == pytest.approx(-1.0)
    assert steps["difference"] == pytest.approx(2.65 - 5.3)
    higher = pd.DataFrame(rows).assign(loss=lambda frame: -frame.loss)
    (rising,) = claims_of(higher, **asked, better="higher", reach=-3.5)
    assert rising["effect"] == pytest.approx(steps["effect"]) and rising["effect"] > 0
    best = ablate.compare(higher, **{**ASKED, "better": "higher"}, **asked, take="best", by="step")
    assert any("the row with the highest step counts" in sentence for sentence in best.trust)


def test_rows_without_a_run_belong_to_no_run():
    rows = [
        {"arm": arm, "id": f"{arm}{seed}", "step": step, "loss": 4.0 - step}
        for arm in "ab"
        for seed in range(3)
        for step in range(3)
    ]
    stray = {"arm": "a", "id": None, "step": 0, "loss": 1.0}
    asked = {"treatment": "b", "baseline": "a", "run": "id", "step": "step"}
    (claim,) = claims_of(pd.DataFrame([stray, *rows]), **asked, reach=3.0)
    assert [arm["runs"] for arm in claim["arms"]] == [3, 3]
    with pytest.raises(UserError, match="no row is left"):
        claims_of(pd.DataFrame([stray]), **asked)


def test_copies_other_columns_and_equal_values_are_named():
    runs = drawn({"a": 1.0, "b": 0.5}).assign(lr=[0.1] * 6 + [0.2] * 6)
    runs = pd.concat([runs, runs.iloc[:2]])
    verdict = ablate.compare(runs, **ASKED, treatment="b", baseline="a")
    assert any("2 rows repeat" in sentence for sentence in verdict.trust)
    assert any("lr (0.2 against 0.1)" in s for s in verdict.claims[0].trust)
    by_lr = ablate.compare(runs, **ASKED, treatment={"lr": 0.2}, baseline={"lr": 0.1})
    assert not any("lr (" in s for s in by_lr.claims[0].trust)
    equal = frame(arm=["a"] * 5 + ["b"] * 5, loss=[1.0] * 5 + [0.5] * 5)
    (claim,) = ablate.compare(equal, **ASKED, treatment="b", baseline="a").claims
    assert sum("exactly the same" in sentence for sentence in claim.trust) == 2


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(
        "arm: arm\nmetric: loss\nbetter: lower\n"
        "claims:\n- {id: b, treatment: b, baseline: a, margin: 0.1}\n"
    )
    return path


def test_a_row_of_the_file_is_named_after_where_has_selected_rows(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("arm,data,loss\n" + "a,y,1\n" * 5 + "a,x,1\nb,x,oops\n")
    with pytest.raises(UserError, match="'oops' in row 7"):
        ablate.compare(path, **ASKED, treatment="b", baseline="a", where={"data": "x"})


def test_arms_of_equal_names_are_refused():
    arms = [("pre ln", "relu"), ("pre", "ln relu"), ("base", "x")] * 5
    runs = pd.DataFrame(arms, columns=["norm", "act"]).assign(loss=range(15))
    asked = {**ASKED, "arm": ["norm", "act"], "baseline": "base x"}
    with pytest.raises(UserError, match="several combinations of norm, act have this name"):
        ablate.compare(runs, **asked, treatment="pre ln relu")
    treatment = {"norm": "pre", "act": "ln relu"}
    (claim,) = ablate.compare(runs, **asked, treatment=treatment).to_dict()["claims"]
    assert claim["arms"][0]["mean"] == 7.0


def test_a_number_that_is_no_arm_is_no_target_if_the_arms_are_numbers():
    runs = drawn({"0.01": 1.0, "0.1": 0.5})
    with pytest.raises(UserError, match=r"baseline=0.3: .* \(arms: 0.01, 0.1\); name one"):
        claims_of(runs, baseline="0.3")
    assert len(claims_of(runs, target=0.3)) == 2
    assert len(claims_of(runs, baseline=0.1)) == 1


def test_evidence_counts_pairs_that_do_not_enter():
    runs = drawn({"a": 1.0, "b": 0.5}, 12)
    runs.loc[(runs.seed % 4 == 3) & (runs.arm == "b"), "loss"] = math.nan
    (paired,) = claims_of(runs, treatment="b", baseline="a", pair="seed")
    assert "; 9 of 12 pairs, paired t" in paired["evidence"]


def test_the_command_judges_the_claims_of_a_study(ablate_command, study, tmp_path):
    runs = tmp_path / "runs.csv"
    drawn({"a": 1.0, "b": 0.5}).to_csv(runs, index=False)
    status, out, _ = ablate_command("judge", runs, study, "--json")
    assert status == 0
    assert [claim["verdict"] for claim in json.loads(out)["claims"]] == ["supported"]


@pytest.mark.parametrize("failed", [1, 500, 20_000])
def test_failures_among_many_runs_are_tested_without_listing_every_table(failed):
    runs = drawn({"a": 1.0, "b": 1.0}, 50_000)
    runs.loc[runs.index[:failed], "loss"] = math.nan
    (claim,) = claims_of(runs, treatment="b", baseline="a")
    assert claim["decided_by_failures"] == (failed > 1)

"""From evidence to the verdicts of a whole file."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from ablate.evidence.checks import adapter
from ablate.evidence.outcome import reason
from ablate.stats.corrections import BORROWED, FURTHER, TUNED_ONCE
from ablate.verdict.conclude import conclude
from ablate.verdict.types import Verdict

from .conftest import codes, only

CLOSE = ([30.0, 31.2, 32.1, 33.0], [29.8, 31.0, 32.2, 32.4])  # differences .2, .2, -.1, .6


def test_every_inconclusive_says_what_it_could_have_seen(claim, arms, evidence):
    entry = only(evidence(arms(*CLOSE), claim(margin=0.3)))
    assert entry["verdict"] == "inconclusive"
    assert entry["detectable"] > 0.4
    plans = [(plan["effect"], plan["seeds"] > 4) for plan in entry["seeds_needed"].values()]
    assert plans == [(0.3, True), (0.6, True)]


@pytest.mark.parametrize(("low", "effect"), [(None, None), (20.0, -9.9), (29.9, -0.1)])
def test_a_claim_that_nothing_is_lost_names_an_arm_that_loses(
    claim, run, arms, evidence, low, effect
):
    runs = arms(*CLOSE)
    if low is not None:
        other = {"model/residual": "none"}
        values = [x - 30 + low + s / 50 for s, x in enumerate(CLOSE[1])]
        runs += [run(other, s, **{"test/nll": x}) for s, x in enumerate(values)]
    asked = claim(kind="non_inferiority", margin=1.0, loses={"model/residual": "none"})
    verdict = conclude(evidence(runs, asked))
    (entry,) = verdict["claims"]
    assert entry["verdict"] == "supported"
    assert ("loss_not_shown" in codes(verdict)) == (low == 29.9)
    control = entry["control"] or {"loses": False, "effect": None}
    assert control["loses"] == (low == 20.0)
    assert control["effect"] == (effect and pytest.approx(effect, abs=0.2))


def test_one_pair_and_equal_differences_decide_nothing(claim, arms, evidence):
    entry = only(evidence(arms([90.0], [1.0]), claim()))
    assert (entry["verdict"], entry["interval"], entry["effect"]) == ("inconclusive", None, 89.0)
    conclusion = conclude(evidence(arms([2.0, 3.0], [1.0, 2.0]), claim(margin=0.0)))
    (entry,) = conclusion["claims"]
    assert (entry["verdict"], entry["interval"]) == ("inconclusive", None)
    assert codes(conclusion)["no_spread"] == {"pairs": 2}


def test_two_seeds_cite_the_fewest_seeds_that_were_simulated(claim, arms, evidence):
    verdict = conclude(evidence(arms([2.0, 3.1], [1.0, 2.0]), claim()))
    assert codes(verdict)["noise"]["seeds"] == 3


def test_verdicts_follow_holm_over_the_file(claim, arms, evidence):
    claims = [claim(id=str(margin), margin=margin) for margin in (0.0, 0.4, 0.9, 1.0)]
    entries = conclude(evidence(arms(*CLOSE), *claims))["claims"]
    p = [min(1.0, 2 * min(entry["p"].values())) for entry in entries]
    adjusted = [min(entry["p_adjusted"].values()) for entry in entries]
    assert adjusted == pytest.approx(multipletests(p, method="holm")[1])
    expected = ["refuted" if x <= 0.05 else "inconclusive" for x in adjusted]
    assert [entry["verdict"] for entry in entries] == expected
    alone = [only(evidence(arms(*CLOSE), asked))["verdict"] for asked in claims]
    assert alone[2:] == ["refuted", "refuted"]
    for entry, before in zip(entries, alone, strict=True):
        uncorrected = entry.get("uncorrected", entry)["verdict"]
        assert uncorrected == before


@pytest.mark.parametrize(
    ("shift", "margin", "alone", "grade"),
    [
        (1.0, 0.93, ("supported", "large enough to matter"), "direction only"),
        (-0.65, 2.0, ("refuted", "the other way round"), "too small to matter"),
        (0.07, 0.5, ("supported", "direction only"), ""),
    ],
)
def test_a_verdict_has_the_answer_without_holm_if_it_differs(
    claim, arms, evidence, shift, margin, alone, grade
):
    before = [20.0, 21.0, 22.0, 23.0, 24.0]
    gains = [0.0, 0.1, 0.3, 0.4, 0.6]  # with an interval from -0.07 to 0.65
    runs = arms([x + gain + shift for x, gain in zip(before, gains, strict=True)], before)
    asked = [claim(id=name, margin=margin) for name in ("first", "second")]
    entry = conclude(evidence(runs, *asked))["claims"][0]
    assert (entry["uncorrected"]["verdict"], entry["uncorrected"]["grade"]) == alone
    assert entry["grade"] == grade


def test_stability_counts_runs(claim, run, evidence):
    runs = [
        run({"model/residual": arm}, seed, status, **{"test/nll": 1.0})
        for arm, wrong in (("pre_ln", 0), ("post_ln", 7))
        for seed in range(10)
        for status in ["diverged" if seed < wrong else "finished"]
    ]
    asked = claim(kind="stability", metric="diverged", better="lower", margin=0.2)
    conclusion = conclude(evidence(runs, asked))
    (entry,) = conclusion["claims"]
    assert (entry["verdict"], entry["effect"]) == ("supported", pytest.approx(0.7))
    assert entry["rates"] == [(7, 10), (0, 10)]
    assert codes(conclusion)["runs_went_wrong"]["arms"] == {"Post-LN": 7}


LUCKY = ([2.5, 2.3, 2.7, 3.1, 3.8], [1.0, 2.0, 1.8, 2.1, 2.0])  # 2 p = .01


@pytest.mark.parametrize(
    ("seen", "planned", "verdict", "spent", "exploratory"),
    [
        ([], 5, "supported", 0.05, False),
        ([], 10, "inconclusive", 0.0031, False),
        ([[0, 1], [0, 1, 2, 3]], 5, "supported", 0.05, False),
        ([[0, 1, 2]], 3, "supported", 0.05, True),
    ],
)
def test_looks_spend_alpha(claim, arms, evidence, seen, planned, verdict, spent, exploratory):
    tried = [reason("alpha_spent", planned=3)] if exploratory else []
    book = {"looks": len(seen), "asked": {"c": {"looks": seen, "tried": tried, "regimes": 2}}}
    of = evidence(arms(*LUCKY), claim(margin=0.0), registration=book, seeds=planned)
    conclusion = conclude(of)
    (entry,) = conclusion["claims"]
    assert (entry["verdict"], entry["exploratory"]) == (verdict, exploratory)
    assert conclusion["alpha_spent"] == pytest.approx(spent, abs=1e-4)
    assert (entry["interval"][0] > 0) == (verdict == "supported")  # a repeated interval agrees
    assert entry["p_look"]["supported"] == pytest.approx(2 * entry["p"]["supported"])
    caveats = codes(conclusion)
    assert caveats["other_settings"] == {"settings": 2}
    assert ("asked_before" in caveats) == exploratory
    assert ("interim" in caveats) == (entry.get("information") is not None)


def test_the_whole_is_plain_data_and_the_same_twice(claim, translated, run, evidence):
    runs, statistics = translated(3)
    runs = [*runs, {**run({"model/residual": "pre_ln"}, 3, "failed"), "cell": 8, "error": "E"}]
    asked = claim(metric="test/bleu")
    of = evidence(runs, asked, statistics=statistics, fixed=["one corpus"], seeds=5)
    conclusion = conclude(of)
    plain = json.loads(json.dumps(conclusion, allow_nan=False))
    assert plain == conclusion == conclude(of)
    adapter(Verdict).validate_python(plain)
    assert (conclusion["runs"], conclusion["failed_runs"], conclusion["reused_runs"]) == (7, 1, 0)
    caveats = codes(conclusion)
    assert caveats["stated"] == {"text": "one corpus"}
    assert caveats["runs_failed"] == {"cells": [8]}
    assert caveats["seeds_missing"] == {"planned": 5, "ended": 3}
    arm = {record["arm"]: record for record in conclusion["arms"]}["pre_ln"]
    assert (arm["seeds"], arm["finished"], arm["failed"]) == (3, 3, 1)
    scores = [record["metrics"]["test/bleu"] for record in runs[3:6]]
    assert arm["metrics"]["test/bleu"]["mean"] == pytest.approx(np.mean(scores))
    assert arm["metrics"]["test/bleu"]["sd"] == pytest.approx(np.std(scores, ddof=1))


@pytest.mark.parametrize(
    ("hashes", "mixed"), [(["a", None, "b", "b"], False), (["a", "c", "b", "b"], True)]
)
@pytest.mark.parametrize("kind", ["runs", "screening"])
def test_an_arm_made_with_different_code_is_a_caveat(claim, arms, evidence, hashes, mixed, kind):
    runs = arms([1.0, 2.0], [1.5, 2.0])
    coded = [run | ({"code": x} if x else {}) for run, x in zip(runs, hashes, strict=True)]
    made = replace(evidence(runs, claim()), **{kind: coded})
    assert codes(conclude(made)).get("code_differs") == ({"arms": ["Pre-LN"]} if mixed else None)


SLOW, FAST = {"processor": "EPYC", "instructions": "AVX2"}, {"processor": "Xeon"}
BOTH = [FAST] * 4 + [SLOW] * 4


@pytest.mark.parametrize(
    ("post_on", "named"),
    [(BOTH, None), (BOTH[::-1], None), ([FAST] * 8, [8, 8]), ([{}] * 8, None)],
)
def test_arms_on_different_processors_are_a_caveat(claim, arms, evidence, post_on, named):
    runs = arms(*([1.0 + shift + s / 10 for s in range(8)] for shift in (2.0, 0.0)))
    placed = [run | on for run, on in zip(runs, BOTH + post_on, strict=True)]
    caveat = codes(conclude(evidence(placed, claim()))).get("processors_differ")
    numbers = {"Pre-LN": [4, 8], "Post-LN": named}
    assert caveat == (named and {"processor": "Xeon", "arms": numbers})


@pytest.mark.parametrize(("on", "gap"), [(BOTH, 1), (BOTH[:4] * 2, 1), ([{}] * 8, 1), (BOTH, 0)])
def test_an_effect_that_depends_on_the_processor_is_a_caveat(claim, arms, evidence, on, gap):
    small = [1.0, 1.1, 0.9, 1.0]
    runs = arms([3.0, 2.8, 2.9, 3.1, 2.9, 3.0, 3.0, 3.1], small + [x + gap for x in small])
    placed = [run | where for run, where in zip(runs, on * 2, strict=True)]
    caveat = codes(conclude(evidence(placed, claim()))).get("effect_by_processor")
    means = {"Xeon": 1.95, "EPYC with AVX2": 1.0}
    assert (caveat and caveat["effects"]) == (means if gap and on is BOTH else None)


@pytest.mark.parametrize("planned", [10, None])
def test_planned_further_runs_of_a_baseline_count(run, claim, evidence, planned):
    rng = np.random.default_rng(1)
    arms = {"baseline": 10, "a": 5, "b": 5, "c": 5}
    runs = [
        run({"variant": arm}, seed, **{"test/nll": rng.normal(3 * (arm == "a"))})
        for arm, seeds in arms.items()
        for seed in range(seeds)
    ]
    sides = {"treatment": {"variant": "a"}, "baseline": {"variant": "baseline"}}
    study = {"factors": ["variant"], "seeds": 5, "baseline_seeds": planned}
    verdict = conclude(evidence(runs, claim(**sides), **study))
    (entry,) = verdict["claims"]
    assert entry["pairs"] == 5
    assert entry.get("unpaired_runs") == (5 if planned else None)
    assert entry["false_rate"] == (FURTHER if planned else BORROWED)[5][0]
    assert ("seeds_unpaired" in codes(verdict)) == (planned is None)
    mean = pytest.approx(np.mean(entry["differences"]))
    assert (entry["effect"] == mean) == (planned is None)


@pytest.mark.parametrize(
    ("values", "pre", "post", "largest", "smallest"),
    [
        ((0.1, 0.2, 0.4), 0.4, 0.2, ["Pre-LN"], []),
        ((0.1, 0.2, 0.4), 0.4, 0.1, ["Pre-LN"], ["Post-LN"]),
        ((0.1, 0.2, 0.4), 0.2, 0.2, [], []),
        (("adam", "sgd"), "adam", "sgd", [], []),
        ((0.1,), 0.1, 0.1, [], []),
    ],
)
def test_a_tuned_value_at_an_end_of_those_tried_is_a_caveat(
    arms, claim, evidence, values, pre, post, largest, smallest
):
    chosen = {"pre_ln": pre, "post_ln": post}
    runs = [run | {"tuned": {"value": chosen[run["arm"]]}} for run in arms(*CLOSE)]
    tune = {"key": "optimizer.lr", "values": list(values), "seeds": [901]}
    ends = codes(conclude(evidence(runs, claim(), tune=tune))).get("best_at_end", {})
    assert [*ends.get("largest", [])] == largest and [*ends.get("smallest", [])] == smallest


def test_a_learning_rate_that_was_not_tuned_is_a_caveat(arms, claim, evidence):
    runs = [run | {"rate": 0.005} for run in arms(*CLOSE)]
    assert codes(conclude(evidence(runs, claim())))["not_tuned"] == {"rates": [0.005]}


@pytest.mark.parametrize("steps", [100, 480])
def test_runs_that_ended_before_their_last_step_are_a_caveat(arms, evidence, steps):
    runs = [run | {"metrics": run["metrics"] | {"steps": steps}} for run in arms(*[range(3)] * 2)]
    planned = replace(evidence(runs), regime={"steps": 480})
    caveat = codes(conclude(planned)).get("trained_short")
    assert (caveat and {*caveat["arms"].values()}) == ({steps} if steps < 480 else None)


@pytest.mark.parametrize(("seeds", "rate"), [(5, 0.054), (7, 0.136), (12, 0.203), (40, 0.203)])
@pytest.mark.parametrize("for_each", [False, True])
def test_a_rate_that_was_tuned_once_for_all_seeds_is_a_caveat(
    arms, evidence, seeds, rate, for_each
):
    runs = [run | {"tuned": {"value": 0.2}} for run in arms(range(seeds), range(seeds))]
    tune = {"key": "optimizer.lr", "values": [0.1, 0.2, 0.4], "seeds": [901, 902]}
    tuning = [run for run in runs if for_each or run["seed"] < 2]
    caveats = codes(conclude(replace(evidence(runs, tune=tune), screening=tuning)))
    expected = {"key": "optimizer.lr", "tuning": 2, "seeds": seeds, "rate": rate}
    assert caveats.get("tuned_once") == (None if for_each else expected)


def test_the_rates_of_arms_that_are_tuned_once_are_those_of_the_page():
    page = Path("docs/explanation/calibration.md").read_text(encoding="utf-8")
    rows = re.findall(r"BLEU apart, (\d+) \| [\d.]+ \| ([\d.]+) \|", page)
    rates = {int(n): [float(x) / 100 for m, x in rows if m == n] for n, _ in rows}
    assert {n: max(of_rows) for n, of_rows in rates.items()} == pytest.approx(TUNED_ONCE)


@pytest.mark.parametrize(("larger", "named"), [(1009, False), (1011, True)])
def test_arms_that_differ_in_parameters_are_named(claim, arms, evidence, larger, named):
    runs = arms(*CLOSE)
    for run in runs[:4]:
        run["metrics"]["parameters"] = larger
    runs[0] |= {"status": "failed", "metrics": {}}
    sizes = codes(conclude(evidence(runs, claim(), claim(id="d", better="lower"))))
    arms_named = {"arms": {"Pre-LN": 1011, "Post-LN": 1000}}
    assert sizes.get("sizes_differ") == (arms_named if named else None)


@pytest.mark.parametrize(
    ("factor", "levels", "expected"),
    [("budget.steps", (60, 6000), [60, 6000]), ("variant", ("baseline", "fewer_steps"), 600)],
)
def test_the_regime_has_the_steps_of_all_arms_but_of_a_screen_those_of_the_baseline(
    run, evidence, factor, levels, expected
):
    runs = [run({factor: level}, seed, **{"steps": 1.0}) for level in levels for seed in (0, 1)]
    collected = evidence(runs, factors=[factor])
    collected.regime.update(steps=600, data="toy")
    assert conclude(collected)["regime"]["steps"] == expected

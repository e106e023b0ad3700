"""From evidence to the verdicts of a whole file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from ablate.evidence.checks import adapter
from ablate.evidence.types import reason
from ablate.stats.skew import BORROWED, FURTHER
from ablate.verdict.conclude import conclude
from ablate.verdict.types import Verdict
from ablate.words.answer import with_words
from ablate.words.reasons import bounds

CLOSE = ([30.0, 31.2, 32.1, 33.0], [29.8, 31.0, 32.2, 32.4])  # differences .2, .2, -.1, .6


def only(evidence):
    (entry,) = with_words(conclude(evidence))["claims"]
    return entry


def codes(verdict):
    """Return the values of each caveat by its code."""
    return {caveat["code"]: caveat["values"] for caveat in verdict["caveats"]}


def test_bleu_is_judged_over_seeds_and_sentences(claim, translated, evidence):
    runs, statistics = translated(6, lift=1.0)
    entry = only(evidence(runs, claim(metric="test/bleu"), statistics=statistics))
    assert entry["noise"] == ["seeds", "sentences"]
    assert (entry["pairs"], entry["sentences"]) == (6, 200)
    assert "6 paired seeds, 200 sentences" in entry["evidence"]


def test_every_inconclusive_says_what_it_could_have_seen(claim, arms, evidence):
    entry = only(evidence(arms(*CLOSE), claim(margin=0.3)))
    assert entry["verdict"] == "inconclusive"
    assert entry["detectable"] > 0.4
    plans = entry["seeds_needed"]
    assert [plan["effect"] for plan in plans.values()] == [0.3, 0.6]
    for plan in plans.values():
        assert plan["seeds"] > 4
    fewest = min(plan["seeds"] for plan in plans.values())
    assert f" {fewest} seeds" in entry["evidence"]


@pytest.mark.parametrize(("low", "effect"), [(None, None), (20.0, -9.9), (29.9, -0.1)])
def test_a_claim_that_nothing_is_lost_names_an_arm_that_loses(
    claim, run, arms, evidence, low, effect
):
    runs = arms(*CLOSE)
    values = [29.8, 31.0, 32.2, 32.4]
    if low is not None:
        runs += [
            run({"model/residual": "none"}, s, **{"test/nll": x - 30 + low + s / 50})
            for s, x in enumerate(values)
        ]
    asked = claim(kind="non_inferiority", margin=1.0, loses={"model/residual": "none"})
    entry = only(evidence(runs, asked))
    assert entry["verdict"] == "supported"
    control = entry["control"] or {"loses": False, "effect": None}
    assert control["loses"] == (low == 20.0)
    assert control["effect"] == (effect and pytest.approx(effect, abs=0.2))


def test_one_pair_decides_nothing(claim, arms, evidence):
    entry = only(evidence(arms([90.0], [1.0]), claim()))
    assert (entry["verdict"], entry["interval"], entry["effect"]) == ("inconclusive", None, 89.0)


def test_two_equal_differences_are_no_certainty(claim, arms, evidence):
    conclusion = conclude(evidence(arms([2.0, 3.0], [1.0, 2.0]), claim(margin=0.0)))
    (entry,) = conclusion["claims"]
    assert (entry["verdict"], entry["interval"]) == ("inconclusive", None)
    assert codes(conclusion)["no_spread"] == {"pairs": 2}


def test_verdicts_follow_holm_over_the_file(claim, arms, evidence):
    claims = [claim(id=str(margin), margin=margin) for margin in (0.0, 0.4, 0.9, 1.0)]
    collected = evidence(arms(*CLOSE), *claims)
    entries = with_words(conclude(collected))["claims"]
    p = [min(1.0, 2 * min(entry["p"].values())) for entry in entries]
    adjusted = [min(entry["p_adjusted"].values()) for entry in entries]
    assert adjusted == pytest.approx(multipletests(p, method="holm")[1])
    alone = [only(evidence(arms(*CLOSE), asked))["verdict"] for asked in claims]
    assert alone[2:] == ["refuted", "refuted"]
    for entry, before in zip(entries, alone, strict=True):
        uncorrected = entry.get("uncorrected", {"verdict": ""})["verdict"]
        assert (uncorrected == before) == (entry["verdict"] != before)
    assert [entry["verdict"] for entry in entries] == [
        "refuted" if p <= 0.05 else "inconclusive" for p in adjusted
    ]


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
    collected = evidence(runs, asked)
    conclusion = conclude(collected)
    (entry,) = with_words(conclusion)["claims"]
    assert entry["verdict"] == "supported"
    assert entry["effect"] == pytest.approx(0.7)
    assert entry["rates"] == [(7, 10), (0, 10)]
    assert codes(conclusion)["runs_went_wrong"]["arms"] == {"Post-LN": 7}


@pytest.mark.parametrize(
    ("times", "earlier", "older", "exploratory"),
    [
        ((10.0, 100.0), [], 3, False),
        ((10.0, 10.0), [], 6, True),
        ((10.0, 100.0), ["other"], 3, True),
        ((100.0, 100.0), ["other"], 0, False),
    ],
)
def test_what_makes_a_verdict_exploratory(
    claim, arms, evidence, times, earlier, older, exploratory
):
    runs = arms([3.0, 4.1, 5.0], [1.0, 2.0, 3.0])
    for run in runs:
        run["ended"] = times[run["arm"] == "post_ln"]
    conclusion = conclude(evidence(runs, claim(), registration={"earlier": earlier}))
    assert conclusion["claims"][0]["older_cells"] == older
    assert conclusion["claims"][0]["exploratory"] == conclusion["exploratory"] == exploratory


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
    of = evidence(
        runs,
        claim(metric="test/bleu"),
        claim(id="e", kind="exact", metric="parameters", treatment={}, baseline={}, margin=0.0),
        statistics=statistics,
        fixed=["the data are one choice", "only one learning rate was tried"],
        seeds=5,
    )
    conclusion = conclude(of)
    plain = json.loads(json.dumps(conclusion, allow_nan=False))
    assert plain == conclusion == conclude(of)
    adapter(Verdict).validate_python(plain)
    assert (conclusion["runs"], conclusion["failed_runs"], conclusion["reused_runs"]) == (7, 1, 0)
    caveat_values = [(caveat["code"], caveat["values"]) for caveat in conclusion["caveats"]]
    assert caveat_values[:4] == [
        ("stated", {"text": "the data are one choice"}),
        ("stated", {"text": "only one learning rate was tried"}),
        ("runs_failed", {"cells": [8]}),
        ("seeds_missing", {"planned": 5, "ended": 3}),
    ]
    arm = {record["arm"]: record for record in conclusion["arms"]}["pre_ln"]
    assert (arm["seeds"], arm["finished"], arm["failed"]) == (3, 3, 1)
    scores = [record["metrics"]["test/bleu"] for record in runs[3:6]]
    assert arm["metrics"]["test/bleu"]["mean"] == pytest.approx(np.mean(scores))
    assert arm["metrics"]["test/bleu"]["sd"] == pytest.approx(np.std(scores, ddof=1))


@pytest.mark.parametrize(
    ("codes", "mixed"), [(["a", None, "b", "b"], False), (["a", "c", "b", "b"], True)]
)
@pytest.mark.parametrize("tuning", [False, True])
def test_an_arm_made_with_different_code_is_a_caveat(claim, arms, evidence, codes, mixed, tuning):
    runs = arms([1.0, 2.0], [1.5, 2.0])
    coded = [run | ({"code": x} if x else {}) for run, x in zip(runs, codes, strict=True)]
    kinds = {"screening": coded} if tuning else {"runs": coded}
    plain = evidence(runs, claim())
    caveat_values = [
        caveat["values"]
        for caveat in conclude(replace(plain, **kinds))["caveats"]
        if caveat["code"] == "code_differs"
    ]
    assert caveat_values == [{"arms": ["Pre-LN"]}] * mixed


SLOW, FAST = {"processor": "EPYC", "instructions": "AVX2"}, {"processor": "Xeon"}
BOTH = [FAST] * 4 + [SLOW] * 4


@pytest.mark.parametrize(
    ("post", "pre_on", "post_on", "reasons"),
    [
        ([1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1], BOTH, BOTH, set()),
        ([1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1], BOTH, BOTH[::-1], set()),
        ([1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1], BOTH, [FAST] * 8, {"processors_differ"}),
        ([1.0, 1.1, 0.9, 1.0, 2.1, 1.9, 2.0, 2.1], BOTH, BOTH, {"effect_by_processor"}),
        ([1.0, 1.1, 0.9, 1.0, 2.1, 1.9, 2.0, 2.1], BOTH, [{}] * 8, set()),
    ],
)
def test_runs_on_different_processors_are_a_caveat(
    claim, arms, evidence, post, pre_on, post_on, reasons
):
    runs = arms([3.0, 2.8, 2.9, 3.1, 2.9, 3.0, 3.0, 3.1], post)
    placed = [run | on for run, on in zip(runs, pre_on + post_on, strict=True)]
    values = codes(conclude(evidence(placed, claim())))
    assert values.keys() & {"processors_differ", "effect_by_processor"} == reasons
    if "processors_differ" in reasons:
        arms_on = {"Pre-LN": [4, 8], "Post-LN": [0, 8]}
        assert values["processors_differ"] == {"processor": "EPYC with AVX2", "arms": arms_on}
    if "effect_by_processor" in reasons:
        effects = {"Xeon": 1.95, "EPYC with AVX2": 0.975}
        assert values["effect_by_processor"]["effects"] == pytest.approx(effects)


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


def test_older_runs_of_several_sweeps_that_do_not_record_their_code_are_a_caveat(
    claim, arms, evidence
):
    runs = arms([1.0, 2.0], [1.5, 2.0])
    pooled = [run | {"replicate": run["seed"]} for run in runs]
    coded = [run | {"code": "a"} for run in pooled]
    plain, older, newer = (conclude(evidence(x, claim()))["caveats"] for x in (runs, pooled, coded))
    assert len(older) == len(plain) + 1
    assert newer == plain


@pytest.mark.parametrize(("busy", "warned"), [(0.1, False), (1.4, True)])
def test_times_beside_other_work_are_a_caveat(arms, claim, evidence, busy, warned):
    runs = arms(*CLOSE)
    runs[0]["metrics"]["probe/others"] = busy
    caveats = codes(conclude(evidence(runs, claim())))
    assert caveats.get("busy_machine") == ({"cores": 1.4} if warned else None)


@pytest.fixture
def tuned(arms, claim, evidence):
    """The arms that chose the largest and the smallest of these values."""

    def make(pre, post, values=(0.1, 0.2, 0.4)):
        chosen = {"pre_ln": pre, "post_ln": post}
        runs = [run | {"tuned": {"value": chosen[run["arm"]]}} for run in arms(*CLOSE)]
        tune = {"key": "optimizer.lr", "values": list(values), "seeds": [901]}
        caveat_values = codes(conclude(evidence(runs, claim(), tune=tune))).get("best_at_end")
        return caveat_values and ([*caveat_values["largest"]], [*caveat_values["smallest"]])

    return make


def test_a_tuned_value_at_an_end_of_those_tried_is_a_caveat(tuned):
    assert tuned(0.4, 0.2) == (["Pre-LN"], [])
    assert tuned(0.4, 0.1) == (["Pre-LN"], ["Post-LN"])
    assert tuned(0.1, 0.1) == ([], ["Pre-LN", "Post-LN"])
    assert tuned(0.2, 0.2) is None
    assert tuned("adam", "sgd", values=("adam", "sgd")) is None


@pytest.mark.parametrize(
    ("margin", "values", "named"),
    [(1.0, [0.2, 0.2, 0.4, 0.4], True), (9.0, [0.2, 0.2, 0.4, 0.4], False)]
    + [(1.0, [0.2, 0.2, 0.2, 0.4], False), (1.0, [0.2] * 4, False)],
)
def test_seeds_with_different_tuned_values_are_a_caveat(
    claim, arms, evidence, margin, values, named
):
    runs = [run | {"tuned": {"value": values[run["seed"]]}} for run in arms(*CLOSE)]
    tune = {"key": "optimizer.lr", "values": [0.1, 0.2, 0.4, 0.8], "seeds": [901]}
    caveat_values = codes(conclude(evidence(runs, claim(margin=margin), tune=tune)))
    assert ("tuned_apart" in caveat_values) == named
    if named:
        low, high = caveat_values["tuned_apart"]["arms"]["Pre-LN"]
        assert (low["value"], low["runs"], low["mean"]) == (0.2, 2, pytest.approx(30.6))
        assert high["mean"] == pytest.approx(32.55)
    runs[3] |= {"status": "collapsed"}  # a run that did not learn says nothing about a rate
    caveat_values = codes(conclude(evidence(runs, claim(margin=margin), tune=tune)))
    assert "Pre-LN" not in caveat_values.get("tuned_apart", {"arms": {}})["arms"]


@pytest.mark.parametrize(("larger", "named"), [(1009, False), (1011, True)])
def test_arms_that_differ_in_parameters_are_named_once(claim, arms, evidence, larger, named):
    runs = arms(*CLOSE)
    for run in runs[:4]:
        run["metrics"]["parameters"] = larger
    runs[0] |= {"status": "failed", "metrics": {}}
    caveats = conclude(evidence(runs, claim(), claim(id="d", better="lower")))["caveats"]
    sizes = [caveat["values"]["arms"] for caveat in caveats if caveat["code"] == "sizes_differ"]
    assert sizes == ([{"Pre-LN": 1011, "Post-LN": 1000}] if named else [])


def test_a_trend_sets_every_level_against_the_next(claim, run, evidence):
    sizes = {1: 1000, 2: 1500, 4: 1501}
    runs = [
        run({"n": n}, seed, **{"test/nll": float(n), "parameters": size})
        for n, size in sizes.items()
        for seed in range(2)
    ]
    asked = claim(kind="trend", over="n", treatment={}, baseline={})
    caveat_values = codes(conclude(evidence(runs, asked, factors=["n"])))["sizes_differ"]
    assert caveat_values["arms"] == {"n 1": 1000, "n 2": 1500}


@pytest.mark.parametrize(
    ("values", "turns"),
    [([3.0, 2.0, 1.0], []), ([3.0, 1.0, 1.5], [(2, 4, 0.5)]), ([1.0, 0.5, 2.0], [(1, 2, -0.5)])],
)
def test_a_trend_names_neighbouring_levels_against_its_slope(claim, run, evidence, values, turns):
    runs = [
        run({"n": n}, seed, **{"test/nll": nll + 0.1 * seed})
        for n, nll in zip((1, 2, 4), values, strict=True)
        for seed in range(3)
    ]
    asked = claim(kind="trend", over="n", better="lower", treatment={}, baseline={})
    caveats = conclude(evidence(runs, asked, factors=["n"]))["caveats"]
    caveat_values = [caveat["values"] for caveat in caveats if caveat["code"] == "trend_reverses"]
    assert [(v["from"], v["to"]) for v in caveat_values] == [
        ({"n": a}, {"n": b}) for a, b, _ in turns
    ]
    assert [v["change"] for v in caveat_values] == pytest.approx([change for *_, change in turns])


def test_the_regime_has_the_steps_of_all_arms_but_of_a_screen_those_of_the_baseline(run, evidence):
    def steps(factor, levels):
        runs = [run({factor: level}, seed, **{"steps": 1.0}) for level in levels for seed in (0, 1)]
        collected = evidence(runs, factors=[factor])
        collected.regime.update(steps=600, data="toy")
        verdict = conclude(collected)
        return verdict["regime"]["steps"], bounds(verdict)

    regime, sentence = steps("budget.steps", (60, 6000))
    assert regime == [60, 6000]
    assert ", 60 and 6,000 steps. Larger models" in sentence
    assert steps("variant", ("baseline", "fewer_steps"))[0] == 600

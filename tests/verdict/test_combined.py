"""The verdict on a study of combinations, from made-up runs whose truth is known."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ablate.config.combinations import plan_of, recipes
from ablate.evidence.folder import Evidence
from ablate.report.content import combined_lines as sentences
from ablate.verdict.conclude import conclude
from ablate.verdict.designs import combined_results
from ablate.verdict.kinds import kind_of

DESIGN = {
    "design": "combinations",
    "recipes": 108,
    "repeated": 12,
    "levels": {
        "norm": {"layer_norm": {}, "rms_norm": {"model/norm": "rms_norm"}},
        "ffn": {"gelu": {}, "swiglu": {"model/feed_forward": "swiglu"}},
        "optimizer": {"adamw": {"optimizer": "adamw"}, "muon": {"optimizer": "muon"}},
    },
    "rate": {
        "key": "optimizer.lr",
        "by": "optimizer",
        "values": {"adamw": [0.002, 0.004], "muon": [0.008, 0.016]},
    },
}
CLAIM = {
    **{"id": "c", "kind": "superiority", "metric": "test/bpb", "better": "lower", "margin": 0.02},
    **{"alpha": 0.05, "where": {}, "minus": {}, "over": "", "scale": "log", "statement": "."},
    **{"source": "", "tolerance": 0.0, "control": ""},
}


def claim(factor, level):
    first = next(iter(DESIGN["levels"][factor]))
    return {**CLAIM, "treatment": {factor: level}, "baseline": {factor: first}}


def run(number, levels, name, seed, loss, status="finished"):
    metrics = {"test/bpb": loss, "test/nll": loss, "val/nll": loss, "unigram_nll": 4.0}
    return {
        **{"cell": number, "identity": str(number), "seed": seed, "status": status},
        **{"levels": levels, "arm": name, "metrics": metrics, "error": "", "reused": False},
        **{"ended": 2e9, "curve": {}, "versions": {}},
    }


def evidence(loss, claims, failed=lambda run: False, status="diverged"):
    """Return runs of all recipes with a loss that is a function of their levels, and noise."""
    design = {"drawn_with": 0, "excluded": [], **DESIGN}
    rng = np.random.default_rng(0)
    runs = []
    for number, recipe in enumerate(recipes(design, plan_of(design))):
        score = 2.0 + loss(recipe.levels) + 0.01 * rng.standard_normal() + 1.5 * failed(recipe)
        ended = status if failed(recipe) else "finished"
        runs.append(run(number, recipe.levels, recipe.name, recipe.seed, score, ended))
    study = {
        **DESIGN,
        "factors": [*DESIGN["levels"], "rate"],
        "claims": claims,
        "seeds": 120,
        "fixed": [],
    }
    return Evidence.synthetic(study, runs)


def test_a_level_that_lowers_the_loss_is_better_at_its_best_rate():
    """On average over both rates the level is worse."""

    def loss(levels):
        worse = levels["rate"] in (0.002, 0.008)
        return 0.3 * worse if levels["norm"] == "rms_norm" else 0.1

    asked = claim("norm", "rms_norm")
    finding = kind_of(asked).evaluate(asked, evidence(loss, [asked]))
    assert finding.result.effect == pytest.approx(0.1, abs=0.01)
    assert finding.p["supported"] < 1e-6
    assert finding.result.counts == (60, 60)


def test_an_effect_counts_the_blocks_of_the_text_and_says_so():
    """The effect of a level differs from block to block of the test text."""
    asked = claim("norm", "rms_norm")
    alone = evidence(lambda levels: 0.1 * (levels["norm"] == "layer_norm"), [asked])
    apart = np.linspace(-1, 1, 20)
    blocks = {
        run["identity"]: {"test/nll": np.stack((run["metrics"]["test/nll"] + lift, apart**0), 1)}
        for run in alone.runs
        for lift in [apart * (run["levels"]["norm"] == "rms_norm")]
    }
    before, after = (
        kind_of(asked).evaluate(asked, each).result
        for each in (alone, replace(alone, statistics=blocks))
    )
    assert after.effect == pytest.approx(before.effect)
    assert after.error == pytest.approx(np.hypot(before.error, apart.std(ddof=1) / 20**0.5))
    assert (before.noise_sources, after.noise_sources) == (("runs",), ("runs", "blocks of text"))
    caveats = [conclude(each)["caveats"] for each in (alone, replace(alone, statistics=blocks))]
    assert ["seeds_only" in [x["code"] for x in y] for y in caveats] == [True, False]


@pytest.mark.parametrize("status", ["diverged", "finished"])  # finished: on a plateau
def test_levels_that_fail_at_different_rates_leave_the_claim_undecided(status):
    asked = claim("ffn", "swiglu")
    failing = evidence(
        lambda levels: -0.1 * (levels["ffn"] == "swiglu"),
        [asked],
        lambda run: run.levels["ffn"] == "swiglu" and run.levels["rate"] == 0.016,
        status,
    )
    finding = kind_of(asked).evaluate(asked, failing)
    assert finding.problem["code"] == "failures_differ"


def test_the_best_recipe_is_predicted():
    def loss(levels):
        return -0.1 * (levels["optimizer"] == "muon") + 0.05 * (levels["norm"] == "rms_norm")

    result = combined_results(evidence(loss, [claim("norm", "rms_norm")]))
    best = result["best"]
    assert best["levels"] | {"ffn": "", "rate": 0} == {
        **{"norm": "layer_norm", "ffn": "", "optimizer": "muon", "rate": 0}
    }
    assert best["gain"] == pytest.approx(0.1, abs=0.015)
    assert best["parts"][0]["rest"] == pytest.approx(0.0, abs=0.015)
    assert result["run_deviation"] == pytest.approx(0.01, rel=0.5)
    assert result["interaction_interval"][0] < 0.005
    assert result["unestimated"] == []
    assert (result["runs"], result["recipes"]) == (120, 108)


def test_a_claim_that_a_level_is_worse_does_not_turn_the_prediction_round():
    worse = {**claim("norm", "rms_norm"), "better": "higher"}
    runs = evidence(lambda levels: 0.1 * (levels["norm"] == "rms_norm"), [worse])
    assert kind_of(worse).evaluate(worse, runs).result.effect == pytest.approx(0.1, abs=0.01)
    result = combined_results(runs)
    assert result["best"]["levels"]["norm"] == "layer_norm"
    (change,) = (x for x in result["changes"] if x["level"] == {"norm": "rms_norm"})
    assert change["effect"] == pytest.approx(-0.1, abs=0.01)


def test_a_part_says_how_many_runs_it_has():
    runs = evidence(lambda levels: 0.0, [claim("ffn", "swiglu")])
    part = replace(runs, runs=runs.runs[20:50])
    assert part.seed_count == "30 of 120 planned seeds"
    numbers = combined_results(part)
    assert numbers["runs"] == 30 and 25 <= numbers["recipes"] <= 30


def test_effects_that_failures_made_inestimable_are_named():
    lost = evidence(
        lambda levels: 0.0,
        [claim("ffn", "swiglu")],
        lambda run: run.levels["ffn"] == "swiglu",
    )
    result = combined_results(lost)
    assert result["unestimated"] == [{"ffn": "swiglu"}]
    assert "swiglu" in [*sentences(result)][-1].lower()


def gains(predicted):
    """Return the answer of eight seeds that gain 0.1 to the claim that they gain as predicted."""
    asked = {
        **CLAIM,
        **{"kind": "equivalence", "margin": 0.03, "margin_reason": ".", "predicted": predicted},
        **{"treatment": {"variant": "best"}, "baseline": {"variant": "first_levels"}},
    }
    rng, runs = np.random.default_rng(0), []
    for seed, (arm, loss) in itertools.product(range(8), (("best", 1.9), ("first_levels", 2.0))):
        score = loss + 0.005 * rng.standard_normal()
        runs.append(run(len(runs), {"variant": arm}, arm, seed, score))
    found_runs = Evidence.synthetic({"factors": ["variant"], "claims": [asked], "seeds": 8}, runs)
    return kind_of(asked).evaluate(asked, found_runs)


def test_an_equivalence_claim_compares_a_gain_with_the_predicted_gain():
    right = gains({"gain": 0.1, "error": 0.005, "df": 80.0})
    assert right.result.effect == pytest.approx(0.0, abs=0.01)
    assert right.p["supported"] < 0.01
    assert gains({"gain": 0.2, "error": 0.005, "df": 80.0}).p["refuted"] < 0.001
    unsure = gains({"gain": 0.1, "error": 0.03, "df": 80.0})
    assert unsure.p["supported"] > 0.1 and unsure.result.noise_sources == ["seeds", "prediction"]

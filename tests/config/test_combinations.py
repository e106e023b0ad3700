"""The recipes of a study of combinations, and designs that are refused."""

import pytest

from ablate.config.combinations import plan_of, recipes
from ablate.errors import UserError
from ablate.verdict.conclude import check_study
from hydra_plugins.ablate_plugins import with_recipes

DESIGN = {
    "recipes": 36,
    "repeated": 6,
    "drawn_with": 1,
    "levels": {
        "norm": {"layer_norm": {}, "rms_norm": {"model/norm": "rms_norm"}},
        "ffn": {
            "gelu": {},
            "relu": {"model/feed_forward": "relu"},
            "swiglu": {"model/feed_forward": "swiglu", "model.d_ff": 340},
        },
        "optimizer": {"adamw": {"optimizer": "adamw"}, "muon": {"optimizer": "muon"}},
    },
    "rate": {
        "key": "optimizer.lr",
        "by": "optimizer",
        "values": {"adamw": [0.002, 0.004], "muon": [0.008, 0.016]},
    },
    "excluded": [{"norm": "rms_norm", "ffn": "relu"}],
}


def test_every_recipe_sets_the_keys_of_its_levels():
    runs = recipes(DESIGN, plan_of(DESIGN))
    assert len(runs) == 42 and len({run.seed for run in runs}) == 42
    for run in runs:
        sets = {}
        for factor, levels in DESIGN["levels"].items():
            sets |= levels[run.levels[factor]]
        assert run.overrides == sets | {"optimizer.lr": run.levels["rate"]}
        assert run.levels["rate"] in DESIGN["rate"]["values"][run.levels["optimizer"]]
        assert (run.levels["norm"], run.levels["ffn"]) != ("rms_norm", "relu")
    assert [sum(run.third == third for run in runs) for third in (1, 2, 3)] == [14, 14, 14]


def test_runs_with_equal_levels_are_one_recipe_with_several_seeds():
    by_name = {}
    for run in recipes(DESIGN, plan_of(DESIGN)):
        by_name.setdefault(run.name, []).append(run)
    for runs in by_name.values():
        assert all(run.overrides == runs[0].overrides for run in runs)
        assert len({run.seed for run in runs}) == len(runs)
    assert len({str(runs[0].levels) for runs in by_name.values()}) == len(by_name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipes": 20}, "26 runs for 6 effects"),
        (
            {"levels": DESIGN["levels"] | {"b": {"x": {}, "y": {"model/norm": "none"}}}},
            "norm and b both set model/norm",
        ),
        ({"rate": DESIGN["rate"] | {"values": {"adamw": [0.002, 0.004]}}}, "muon"),
        ({"excluded": [{"norm": "rms_norm", "optimizer": "muon"}]}, "always occur together"),
    ],
)
def test_a_design_without_a_plan_is_refused(change, message):
    with pytest.raises(UserError, match=message):
        plan_of(DESIGN | change)


CLAIM = {
    **{"id": "c", "statement": ".", "source": ".", "kind": "superiority", "metric": "test/bpb"},
    **{"better": "lower", "margin": 0.0, "margin_reason": "", "alpha": 0.05, "where": {}},
    **{"treatment": {"norm": "rms_norm"}, "baseline": {"norm": "layer_norm"}, "minus": {}},
    **{"over": "", "scale": "log", "tolerance": 0.0, "control": ""},
}
STUDY = {
    **DESIGN,
    **{"design": "combinations", "factors": [*DESIGN["levels"], "rate"], "seeds": 42},
    **{"expect": "different", "tune": None},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"where": {"ffn": "relu"}}, "no where"),
        ({"treatment": {"ffn": "relu"}}, "two levels of one"),
        ({"kind": "exact"}, "not exact"),
    ],
)
def test_a_claim_that_no_study_of_combinations_can_answer_is_refused(change, message):
    check_study({**STUDY, "claims": [CLAIM]})
    with pytest.raises(UserError, match=message):
        check_study({**STUDY, "claims": [CLAIM | change]})


def test_a_job_that_names_seeds_or_recipes_has_their_runs_alone():
    pairs = [["variant=r0", "seed=0"], ["variant=r1", "seed=1"], ["variant=r0", "seed=2"]]
    assert [*with_recipes([["a=1"]], pairs)] == [["a=1", *pair] for pair in pairs]
    parts = [*with_recipes([["a=1", "seed=1"], ["seed=2"], ["seed=9"]], pairs)]
    assert parts == [["a=1", *pairs[1]], pairs[2]]
    assert [*with_recipes([["variant=r0"]], pairs)] == [pairs[0], pairs[2]]

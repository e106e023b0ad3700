"""Every kind and outcome, and every code of a caveat or a reason, has a template."""

import ast
import json
from pathlib import Path

import pytest

import ablate
from ablate.verdict.kinds import KINDS
from ablate.words.answer import evidence_line, opening, statement
from ablate.words.reasons import TEMPLATES, caveat_text

ROOT = Path(__file__).resolve().parents[2]
ARMS = {"Pre-LN": {"budget.steps": 100}, "Post-LN": {"budget.steps": 200}}
VALUES = {  # values with which the template of each code is rendered
    **dict.fromkeys(("not_registered", "versions_differ", "code_unknown", "no_trained_model"), {}),
    **dict.fromkeys(("still_learning", "not_confirmed_later", "failures_differ"), {}),
    "not_estimable": {},
    **dict.fromkeys(("registration_changed", "registration_missing"), {"hash": "0a1b"}),
    "key_removed": {"claim": "a"},
    "study_changed": {"hash": "0a1b", "changes": [["study.seeds", 3, 5], ["study.tune", None, 1]]},
    "runs_of_other_study": {"cells": [1, 2, 3]},
    "stated": {"text": "one corpus was used"},
    "plan_changed": {"times": 2},
    "claims_wait": {"planned": 5, "waiting": 1},
    "best_at_end": {
        **{"key": "optimizer.lr", "values": [0.1, 0.2]},
        **{"largest": {"Pre-LN": [2, 3]}, "smallest": {}},
    },
    "tuned_short": {"key": "optimizer.lr", "short": 100, "steps": [200, 400]},
    "tuned_apart": {
        **{"key": "optimizer.lr", "metric": "test/bleu"},
        "arms": {"Pre-LN": [{"value": x, "mean": 30.0, "runs": 2} for x in (0.1, 0.2)]},
    },
    "matched": {"by": "flops", "to": {"model/residual": "post_ln"}, "arms": ARMS},
    "sizes_differ": {"arms": {"Pre-LN": 110, "Post-LN": 100}},
    "busy_machine": {"cores": 1.4},
    "runs_failed": {"cells": [8]},
    "processors_differ": {"processor": "AMD EPYC with AVX2", "arms": {"A": [3, 4], "B": [1, 4]}},
    "effect_by_processor": {"effects": {"AMD EPYC": 0.21, "Intel Xeon": -0.03}, "p": 0.0021},
    "code_differs": {"arms": ["Pre-LN", "Post-LN"]},
    "runs_went_wrong": {"arms": {"Post-LN": 7}},
    "short_runs_went_wrong": {"arms": {"Post-LN": 7}, "steps": 600},
    "stopped_early": {"planned": 12, "arms": {"Pre-LN": 4, "Post-LN": 4}},
    "seeds_missing": {"planned": 12, "ended": 4},
    "seeds_unpaired": {"seeds": [1, 4]},
    "failures_left_out": {"arms": {"Post-LN": [5, 12], "Pre-LN": [0, 12]}},
    "trend_reverses": {
        **{"metric": "test/nll", "measures": "", "change": -0.5},
        **{"from": {"model.n_heads": 1}, "to": {"model.n_heads": 2}},
    },
    "no_spread": {"pairs": 3},
    "runs_older": {"runs": 1, "exploratory": True},
    "noise": {"reason": "few seeds", "seeds": 5, "rate": 0.065, "nominal": 0.025},
    "holm": {"claims": 4},
    "rates_untuned": {"rates": ["optimizer.lr=0.02"]},
    "seeds_only": {"task": "translation"},
    "asked_before": {"reason": {"code": "alpha_spent", "values": {"planned": 5}}},
    "interim": {"analysis": 2, "share": 0.5},
    "other_settings": {"settings": 2},
    "recorded": {"text": "the plan was changed"},
    "earlier_replication": {"sweep": "s", "day": "2026-01-01", "seeds": 5},
    "earlier_sweep": {
        **{"sweep": "s", "day": "2026-01-01", "seeds": 5},
        "changes": [["margin", 1.0, 2.0]],
    },
    "alpha_spent": {"planned": 5},
    "seeds_left_out": {"seeds": 1},
    "nothing_learned": {"metric": "test/bleu", "measures": ""},
    "arms_not_learned": {"arms": ["Post-LN"]},
    "identical": {"metric": "test/bleu", "measures": ""},
    "no_room": {
        **{
            "limit": "a perfect model",
            "baseline": {"model/residual": "post_ln"},
            "metric": "test/skill",
        },
        **{"room": 0.01, "margin": 0.1},
    },
    "at_ceiling": {"metric": "test/skill"},
    "too_few_learned": {"pairs": 1, "needed": 2},
    "too_few_levels": {"over": "model.n_heads"},
    "no_logarithm": {"over": "model.n_heads", "level": 0},
    # a table of runs that other programs made
    **dict.fromkeys(("table", "no_value", "no_variation"), {}),
    **dict.fromkeys(("failures_differ", "not_estimable"), {}),
    "source": {"text": "The last row of metrics.csv is incomplete."},
    "rows": {"rows": 40, "runs": 4},
    "no_label": {"empty": 3, "runs": 20, "column": "arm"},
    "twins": {"column": "lr", "names": ["0.1", "0.10"]},
    "unfinished": {"column": "state", "states": ["crashed"], "runs": 2, "of": 9},
    "steps_as_runs": {"column": "step"},
    "ended_early": {"runs": 2, "of": 9, "column": "val_loss"},
    "steps_repeated": {"rows": 8},
    "not_reached": {"runs": 2, "value": 3.28},
    "copies": {"rows": 2},
    "missing": {"runs": 2, "of": 9, "column": "val_loss", "rule": "they are left out"},
    "no_level": {"runs": 2, "of": 9, "over": "width"},
    "other_columns": {"columns": ["lr (0.1 against 0.2)"]},
    "noise_stated": {"sd": 0.0013, "source": "a README"},
    "arm_skewed": {"arm": "relu"},
    "arm_constant": {"arm": "relu", "runs": 5},
    "pairs_incomplete": {"pairs": 3},
    "without_value": {"arms": {"relu": [5, 12], "gelu": [0, 12]}},
}


OUTCOMES = [
    *((kind, verdict, "") for kind in KINDS for verdict in ("supported", "refuted")),
    *((kind, "inconclusive", "") for kind in KINDS),
    *(
        (kind, verdict, grade)
        for kind in ("superiority", "trend", "stability")
        for verdict, grade in (
            *(("supported", "large enough to matter"), ("supported", "direction only")),
            *(("refuted", "too small to matter"), ("refuted", "the other way round")),
        )
    ),
]
ASKED = {
    **{"metric": "test/bleu", "better": "higher", "margin": 2.0, "alpha": 0.05, "tolerance": 0.0},
    **{"treatment": {"model/residual": "pre_ln"}, "baseline": {"model/residual": "post_ln"}},
    **{"where": {"model.n_layers": 6}, "minus": {}, "over": "", "scale": "log"},
}
ANSWER = {
    **{
        "effect": 3.25,
        "interval": [-1.5, 8.5],
        "pairs": 7,
        "seeds_needed": None,
        "differences": [],
    },
}
CASES = {"of": 6, "counted": 6, "broken": 0, "draws": 20, "control": None}
HERE = {"where": {"model.n_layers": 6}, "minus": {"model.n_layers": 2}}
PLAN = {"supported": {"effect": 2.5, "seeds": 18}}
VARIANTS = {  # further fields of a claim and its answer, with words that the evidence then needs
    "usual": ({}, ()),
    "interaction": (HERE, ("minus",)),
    "withheld": ({"withheld": {"code": "still_learning", "values": {}}}, ("still",)),
    "problem": ({"problem": {"code": "no_value", "values": {}}}, ("no run",)),
    "planned": ({"seeds_needed": PLAN}, ()),
    "never": ({"seeds_needed": {"supported": {"effect": 2.5, "seeds": None}}}, ()),
    "settings": ({"settings": {"Pre-LN": ["optimizer.lr=0.02"]}}, ("optimizer.lr=0.02",)),
    "failures": (
        {
            "decided_by_failures": True,
            "failed_to_learn": {"Post-LN": {"runs": 3, "of": 7, "interval": [0.1, 0.8]}},
        },
        ("3 of 7 runs with Post-LN",),
    ),
}


def kinds_fields(kind):
    if kind == "exact":
        return {"margin": 0.0, "tolerance": 0.5, "cases": CASES}
    if kind == "stability":
        return {"metric": "unstable", "better": "lower", "margin": 0.0, "rates": [[3, 7], [0, 7]]}
    return {"over": "model.n_heads"} if kind == "trend" else {}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("kind", "verdict", "grade"), OUTCOMES)
def test_every_kind_and_outcome_is_rendered(kind, verdict, grade, variant):
    fields, words = VARIANTS[variant]
    asked = {**ASKED, "kind": kind, "verdict": verdict, "grade": grade, **ANSWER}
    claim = {**asked, **kinds_fields(kind), **fields}
    line = f"{opening(claim, claim)}. {evidence_line(claim, claim)}"
    assert "{" not in line and "None" not in line and ".." not in line
    assert line.startswith({"s": "Supported", "r": "Refuted", "i": "Undecided"}[verdict[0]])
    if kind not in ("exact", "stability"):
        assert all(word in line for word in words)
    if not {"problem", "decided_by_failures"} & claim.keys():
        assert {"exact": "3.25", "stability": "3 of 7"}.get(kind, "+3.2") in line


@pytest.mark.parametrize("minus", [{}, {"layers": 2}])
@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_about_a_table_is_a_sentence(kind, minus):
    claim = {**ASKED, "kind": kind, "minus": minus, "where": {}, "measures": "loss"}
    claim |= {"target": None, "over": "width"}
    text = statement(claim, lambda levels: " ".join(map(str, levels.values())))
    assert text.endswith(".") and "{" not in text
    assert ("2" in text and "all runs" in text) == bool(minus)


@pytest.mark.parametrize("code", TEMPLATES)
def test_every_template_is_rendered_with_its_values(code):
    values = VALUES[code]
    text = caveat_text({"code": code, "values": values, "claims": [1, 3]})
    assert len(text) > 20 and "{" not in text and "None" not in text
    for number in (value for value in values.values() if isinstance(value, int) and value > 1):
        assert str(number) in text


def test_every_code_that_is_given_has_a_template():
    folder = Path(ablate.__file__).parent
    given = {
        node.args[0].value
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "reason"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert given <= TEMPLATES.keys() and len(given) > 30


def test_every_caveat_of_a_committed_verdict_has_a_sentence():
    for path in sorted(ROOT.glob("experiments/*/verdict.json")):
        for caveat in json.loads(path.read_text(encoding="utf-8"))["caveats"]:
            assert caveat_text(caveat)

"""Every kind and outcome, and every code of a caveat or a reason, has a template."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import ablate
from ablate.verdict.kinds import KINDS
from ablate.words.answer import evidence_line, short_answer
from ablate.words.reasons import TEMPLATES

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
    **{"effect": 3.25, "interval": [-1.5, 8.5], "pairs": 7},
    **{"seeds_needed": None, "differences": []},
}
CASES = {"of": 6, "counted": 6, "broken": 0, "draws": 20, "control": None}
FAILED = {"Post-LN": {"runs": 3, "of": 7, "interval": [0.1, 0.8]}}
VARIANTS = {  # further fields of a claim and its answer
    "usual": {},
    "interaction": {"minus": {"model.n_layers": 2}},
    "withheld": {"withheld": {"code": "still_learning", "values": {}}},
    "problem": {"problem": {"code": "no_value", "values": {}}},
    "planned": {"seeds_needed": {"supported": {"effect": 2.5, "seeds": 18}}},
    "never": {"seeds_needed": {"supported": {"effect": 2.5, "seeds": None}}},
    "settings": {"settings": {"Pre-LN": ["optimizer.lr=0.02"]}},
    "failures": {"decided_by_failures": True, "failed_to_learn": FAILED},
}


def kinds_fields(kind):
    if kind == "exact":
        return {"margin": 0.0, "tolerance": 0.5, "cases": CASES}
    if kind == "stability":
        return {"metric": "unstable", "better": "lower", "margin": 0.0, "rates": [[3, 7], [0, 7]]}
    return {"over": "model.n_heads"} if kind == "trend" else {}


@pytest.mark.parametrize(("kind", "verdict", "grade"), OUTCOMES)
def test_every_kind_and_outcome_is_rendered(kind, verdict, grade):
    asked = {**ASKED, "kind": kind, "verdict": verdict, "grade": grade, **ANSWER}
    for fields in VARIANTS.values():
        claim = {**asked, **kinds_fields(kind), **fields}
        line = f"{short_answer(claim, claim)}. {evidence_line(claim, claim)}"
        assert "{" not in line and "None" not in line and ".." not in line
        if not {"problem", "decided_by_failures"} & claim.keys():
            assert {"exact": "3.25", "stability": "3 of 7"}.get(kind, "+3.2") in line


def reasons():
    """Return the codes that are given somewhere, with the names of the values given with each."""
    given = {}
    for path in Path(ablate.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Name("reason"), [ast.Constant(code)], keywords):
                    names = {keyword.arg for keyword in keywords}
                    given[code] = given.get(code, names) & names
    return given


def test_every_code_has_a_template_with_the_values_that_are_given_with_it():
    given = reasons()
    assert len(given) > 30
    for code, values in given.items():
        fields = {field for _, field, *_ in Formatter().parse(TEMPLATES[code]) if field}
        assert None in values or fields <= values, code  # None: `**values`
        assert "`" not in TEMPLATES[code]  # a terminal prints them, and a report escapes them

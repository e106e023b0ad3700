"""What a registration covers: all that decides a verdict, and neither wording nor names."""

import copy
import json

import pytest

from ablate.evidence.registration import departures, form, registration_hash, study_hash
from ablate.words.reasons import sentence

STUDY = {
    "factors": ["model/position", "model.d_ff"],
    "seeds": 5,
    "tune": {"key": "optimizer.lr", "values": [0.001, 0.01], "seeds": [9]},
    "match": {"by": "parameters", "to": {"model/position": "fixed"}},
    "claims": [
        {
            "id": "a",
            "statement": "Tables are better.",
            "kind": "superiority",
            "metric": "test/bleu",
            "margin": 2.0,
            "treatment": {"model/position": "table"},
            "baseline": {"model/position": "fixed"},
            "where": {"model.d_ff": 64},
        },
        {"id": "b", "kind": "exact", "metric": "probe/gap", "tolerance": 1e-9},
    ],
}
LEVELS = {
    "model/position=table": {"model.position._target_": "ablate.model.position.added.Learned"},
    "model/position=fixed": {"model.position._target_": "ablate.model.position.waves.Waves"},
}
ARMS = [{"budget.steps": 10, "model.d_ff": "64", **sets} for sets in LEVELS.values()]


def changed(path, value):
    """The study with another value at a path."""
    study = copy.deepcopy(STUDY)
    *way, last = path.split(".")
    node = study
    for key in way:
        node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
    node[int(last) if isinstance(node, list) else last] = value
    return study


def left(now, before=STUDY, runs=()):
    """The departures of a study from what was registered, which a file has held."""
    registered = json.loads(json.dumps(form(before, LEVELS, ARMS)))
    return departures(now, {"hash": registration_hash(registered)}, registered, [*runs])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("literature", "others say"),
        ("looks", 3),
        ("claims.0.statement", "Tables of positions are better."),
        ("claims.0.id", "c"),
        ("claims.0.better", "higher"),
        ("claims.0.margin", 2),
        ("claims.0.where", {"model.d_ff": 64.0}),
        ("match.key", "model.d_ff"),
        ("factors", ["model.d_ff", "model/position"]),
    ],
)
def test_what_decides_nothing_is_no_departure(path, value):
    now = changed(path, value)
    assert left(now) == []
    assert study_hash(now) == study_hash(STUDY)


@pytest.mark.parametrize(
    ("path", "value", "changes"),
    [
        ("seeds", 6, ["study.seeds", 5, 6]),
        ("tune.values", [0.001], ["study.tune.values", [0.001, 0.01], [0.001]]),
        ("tune.better", "higher", ["study.tune.better", "lower", "higher"]),
        ("match.by", "flops", ["study.match.by", "parameters", "flops"]),
        ("claims.0.metric", "test/nll", ["study.claims.1.metric", "test/bleu", "test/nll"]),
        ("claims.0.margin", 1.0, ["study.claims.1.margin", 2.0, 1.0]),
        ("claims.0.where", {"model.d_ff": 32}, ["study.claims.1.where.model.d_ff", 64.0, 32.0]),
        ("claims.0.loses.model/position", "none", None),
        ("claims.1.tolerance", 1e-6, ["study.claims.2.tolerance", 1e-9, 1e-6]),
        ("claims", STUDY["claims"][:1], None),
        ("claims", STUDY["claims"][::-1], None),
        ("tune", None, None),
    ],
)
def test_what_decides_is_a_departure_and_is_named(path, value, changes):
    now = changed(path, value)
    assert study_hash(now) != study_hash(STUDY)
    (departure,) = left(now)
    assert departure["code"] == "study_changed" and sentence(departure)
    assert changes is None or departure["values"]["changes"] == [changes]


def hashed(study=STUDY, levels=LEVELS, arms=ARMS):
    return registration_hash(form(study, levels, arms))


@pytest.mark.parametrize(
    ("before", "now", "is_same"),
    [
        ("=fixed", "=waves", True),  # another name of a level
        ("added.Learned", "added.Other", False),
        ("ablate.model.position.added.Learned", "theirs.Learned", False),
        ('"budget.steps": 10', '"budget.steps": 20', False),
    ],
)
def test_arms_are_registered_by_what_they_set(before, now, is_same):
    levels, arms = (json.loads(json.dumps(x).replace(before, now)) for x in (LEVELS, ARMS))
    renamed = json.loads(json.dumps(STUDY).replace('"fixed"', '"waves"'))
    study = renamed if is_same else STUDY
    assert (hashed(study, levels, arms) == hashed()) == is_same


def test_an_arm_more_or_less_is_another_registration_and_their_order_is_none():
    assert hashed(arms=ARMS[:1]) != hashed()
    assert hashed(arms=ARMS[::-1]) == hashed()


def test_what_withholds_a_verdict_can_come_after_the_runs_and_not_go():
    strict, off = (changed("claims.0.cannot", value) for value in (True, False))
    assert study_hash(STUDY) == study_hash(off) == study_hash(strict)
    assert left(strict) == left(strict, strict) == left(off) == []
    (departure,) = left(STUDY, strict)
    assert (departure["code"], departure["values"]) == ("key_removed", {"claim": "a"})


def test_runs_that_began_under_another_form_are_named():
    current, other = study_hash(STUDY), study_hash(changed("seeds", 6))
    runs = [
        {"cell": number, "study": of} for number, of in enumerate((current, other, current, other))
    ]
    (departure,) = left(STUDY, runs=[*runs, {"cell": 9}])
    assert departure["values"] == {"cells": [1, 3]}


@pytest.mark.parametrize("registered", [{}, {"study": {"claims": 1}, "arms": []}])
def test_without_the_registered_form_nothing_says_that_it_is_this_study(registered):
    (departure,) = departures(STUDY, {"hash": hashed()}, registered, [])
    assert departure["code"] in ("registration_changed", "registration_missing")
    (departure,) = departures(STUDY, {}, {}, [])
    assert departure["code"] == "not_registered"

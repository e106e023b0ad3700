"""What a registration covers: all that decides a verdict, and neither wording nor names."""

import copy
import json
from pathlib import Path

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
        ("nuisance", ["budget.steps"]),
        ("looks", 3),
        ("claims.0.statement", "Tables of positions are better."),
        ("claims.0.id", "c"),
        ("claims.0.reading", "at this length"),
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
    ("path", "value", "words"),
    [
        ("seeds", 6, "study.seeds was 5 and is 6"),
        ("tune.values", [0.001], "study.tune.values was [0.001, 0.01] and is [0.001]"),
        ("tune.better", "higher", "study.tune.better was lower and is higher"),
        ("tune", None, "study.tune was not given and is"),
        ("match.by", "flops", "study.match.by was parameters and is flops"),
        ("claims.0.metric", "test/nll", "metric was test/bleu and is test/nll"),
        ("claims.0.margin", 1.0, "margin was 2.0 and is 1.0"),
        ("claims.0.where", {"model.d_ff": 32}, "where.model.d_ff was 64.0 and is 32.0"),
        ("claims.0.loses", {"model/position": "none"}, "loses.model/position was not given"),
        ("claims.1.tolerance", 1e-6, "tolerance was 1e-09 and is 1e-06"),
        ("claims", STUDY["claims"][:1], "study.claims.2.kind was exact and is not given"),
        ("claims", STUDY["claims"][::-1], "study.claims."),
    ],
)
def test_what_decides_is_a_departure_and_is_named(path, value, words):
    now = changed(path, value)
    assert study_hash(now) != study_hash(STUDY)
    (departure,) = left(now)
    assert departure["code"] == "study_changed" and words in sentence(departure)


def hashed(study=STUDY, levels=LEVELS, arms=ARMS):
    return registration_hash(form(study, levels, arms))


def test_levels_are_registered_by_what_they_set():
    named = json.loads(json.dumps(STUDY).replace('"fixed"', '"waves"'))
    levels = {key.replace("=fixed", "=waves"): sets for key, sets in LEVELS.items()}
    assert hashed(named, levels) == hashed()


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("added.Learned", "added.Other"),
        ("ablate.model.position.added.Learned", "theirs.Learned"),
        ('"budget.steps": 10', '"budget.steps": 20'),
    ],
)
def test_another_arm_under_the_same_name_is_another_registration(before, now):
    levels, arms = (json.loads(json.dumps(x).replace(before, now)) for x in (LEVELS, ARMS))
    assert hashed(levels=levels, arms=arms) != hashed()


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


def test_the_whole_study_that_was_registered_before_is_compared_in_what_decides():
    text = Path(__file__).parents[2] / "experiments" / "relu_vs_linear" / "registered.json"
    registered = json.loads(text.read_text())
    registration = {"hash": registration_hash(registered)}
    now = copy.deepcopy(registered)
    now["claims"][0] |= {"statement": "Another sentence.", "source": "another", "id": "other"}
    assert (
        departures(now, registration, registered, [{"cell": 0, "study": registration["hash"]}])
        == []
    )
    now["claims"][0]["margin"] = 0.5
    (departure,) = departures(now, registration, registered, [])
    assert departure["values"]["changes"][0][1:] == [2.0, 0.5]
    forged = copy.deepcopy(now)  # and the registered form with it
    assert departures(now, registration, forged, [])[0]["code"] == "registration_changed"


@pytest.mark.parametrize("registered", [{}, {"study": {"claims": 1}, "arms": []}])
def test_without_the_registered_form_nothing_says_that_it_is_this_study(registered):
    (departure,) = departures(STUDY, {"hash": hashed()}, registered, [])
    assert departure["code"] in ("registration_changed", "registration_missing")
    (departure,) = departures(STUDY, {}, {}, [])
    assert departure["code"] == "not_registered"

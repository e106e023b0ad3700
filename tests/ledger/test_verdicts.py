"""Which verdicts count, of all that experiments left behind."""

import json

import pytest

from ablate.ledger.text import read_entries
from ablate.ledger.verdicts import collect

CLAIM = "preln_solves_gradient_problem"


@pytest.fixture
def ledger(folders):
    """The ledger over what is in the folders, by claim id."""

    def read():
        return {entry.claim.id: entry for entry in read_entries(folders / "experiments")}

    return read


def verdicts_of(entry):
    return [(finding.verdict, *finding.data) for finding in entry.findings]


@pytest.mark.parametrize("metric", ["parameters", "test/bleu"])
def test_a_value_that_training_cannot_change_needs_no_real_text(verdict, folders, metric):
    verdict("experiments/study", {CLAIM: "supported"})
    path = folders / "experiments" / "study" / "verdict.json"
    whole = json.loads(path.read_text())
    whole["claims"][0]["metric"] = metric
    path.write_text(json.dumps(whole))
    ((finding,),) = collect(folders / "experiments").values()
    assert finding.trained == (metric == "test/bleu")


@pytest.mark.parametrize(("claims", "reverses"), [([], True), ([1], True), ([2], False)])
def test_a_trend_reverses_where_its_caveat_says(verdict, folders, claims, reverses):
    verdict("experiments/study", {CLAIM: "supported"}, kind="trend")
    path = folders / "experiments" / "study" / "verdict.json"
    whole = json.loads(path.read_text())
    whole["caveats"] = [{"code": "trend_reverses", "values": {}, "claims": claims}]
    path.write_text(json.dumps(whole))
    ((finding,),) = collect(folders / "experiments").values()
    assert finding.reverses == reverses


def test_every_regime_and_experiment_is_kept_and_none_leads_by_its_date(ledger, verdict):
    verdict("experiments/study", {CLAIM: "supported"}, time=100)
    verdict("experiments/real", {CLAIM: "refuted"}, time=300, experiment="study", data="multi30k")
    verdict("experiments/depth", {CLAIM: "inconclusive"}, time=200)
    entries = ledger()
    assert verdicts_of(entries[CLAIM]) == [
        ("inconclusive", "toy"),
        ("refuted", "multi30k"),
        ("supported", "toy"),
    ]
    assert entries[CLAIM].verdict == "refuted"  # on real text


def test_a_sentence_that_is_not_testable_shows_no_verdict(ledger, verdict):
    name = "heads_8_or_16_usual"
    verdict("experiments/a", {name: "supported"})
    entry = ledger()[name]
    assert (entry.verdict, entry.headline.reason) == ("not testable", "convention")
    assert entry.standing["why"]


def test_smoke_tests_are_no_verdicts(ledger, verdict):
    verdict("experiments/b", {CLAIM: "refuted", "pe_unique": "supported"}, 900, scale="smoke")
    verdict("experiments/a", {CLAIM: "supported"}, time=100)
    entries = ledger()
    assert verdicts_of(entries[CLAIM]) == [("supported", "toy")]
    assert entries["pe_unique"].verdict == "not tested"


def test_what_fresh_seeds_said_is_told_and_is_no_verdict_of_its_own(ledger, verdict, folders):
    verdict("experiments/study", {CLAIM: "supported"}, time=100)
    (finding,) = ledger()[CLAIM].findings
    assert finding.replication is None
    first = json.loads((folders / "experiments/study/verdict.json").read_text())["claims"][0]
    fresh = {**first, "verdict": "inconclusive"}
    claim = {"id": CLAIM, "statement": first["statement"], "reading": "", "exploratory": False}
    replication = {**claim, "replication": "partly reproduced", "first": first, "fresh": fresh}
    contest = folders / "experiments/study/contest.json"
    contest.write_text(json.dumps({"claims": [replication]}))
    (finding,) = ledger()[CLAIM].findings
    assert (finding.verdict, finding.replication["replication"]) == (
        "supported",
        "partly reproduced",
    )


@pytest.mark.parametrize(("metric", "trained"), [("steps", True), ("probe/count", False)])
@pytest.mark.parametrize("sentences", [{}, {"test": 10}])  # a language model has no sentences
def test_models_were_trained_where_their_runs_took_steps(
    verdict, folders, metric, sentences, trained
):
    verdict("experiments/a", {CLAIM: "supported"})
    path = folders / "experiments" / "a" / "verdict.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    counts = {"seeds": 1, "finished": 1, "diverged": 0, "collapsed": 0, "failed": 0}
    whole["arms"] = [{"arm": "one", "label": "one", "levels": {}, **counts}]
    whole["arms"][0]["metrics"] = {metric: {"mean": 100.0, "sd": None}}
    whole["regime"]["test_sentences"] = sentences
    path.write_text(json.dumps(whole), encoding="utf-8")
    ((finding,),) = collect(folders / "experiments").values()
    assert finding.trained == trained

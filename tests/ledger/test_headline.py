"""The rule that makes one word of all verdicts on a claim, line by line."""

import json
from dataclasses import fields, replace

import pytest

from ablate.config import catalogue_root
from ablate.ledger.headline import headline
from ablate.ledger.text import Entry, answer_of, limits, lines, read_entries
from ablate.ledger.verdicts import Finding, collect, read_claims, read_notes

PLAIN = "Pre-LN translates better than Post-LN."
ANSWER = {
    **{"id": "c", "statement": PLAIN, "kind": "superiority", "metric": "test/bleu", "over": ""},
    **{"effect": 0.0, "interval": None, "exploratory": False, "alpha": 0.05, "p_look": {}},
    **{"grade": "", "margin": 1.0},
}
SETTING = {"size": "micro", "device": "", "arms": ""}
FIELDS = {field.name for field in fields(Finding)}
OURS = {"remark": "No document says so."}


def finding(verdict="supported", data=("toy",), steps=(600,), trained=True, **changes):
    answer = ANSWER | {"verdict": verdict}
    answer |= {k: v for k, v in changes.items() if k not in SETTING.keys() | FIELDS}
    setting = {"kind": answer["kind"]} | {k: changes.get(k, v) for k, v in SETTING.items()}
    others = {"experiment": "study"} | {k: v for k, v in changes.items() if k in FIELDS}
    return Finding(answer, data=data, steps=steps, trained=trained, setting=setting, **others)


PRE, POST = ({"model/residual": order} for order in ("pre_ln", "post_ln"))
ADAM = {"model/residual": "pre_ln", "optimizer": "adam"}
SUPPORTED = finding()
LONG = {"steps": (3000,)}


@pytest.mark.parametrize(
    ("findings", "word"),
    [
        # within a setting the longest budget decides
        ([finding(), finding("inconclusive", **LONG)], "undecided"),
        ([finding("refuted"), finding(**LONG)], "supported"),
        ([finding(**LONG), finding("refuted", steps=(30000,))], "refuted"),
        ([finding(steps=()), finding("refuted")], "refuted"),
        # over settings, each at its longest budget
        ([finding(), finding(size="six layers")], "supported"),
        ([finding("refuted"), finding("refuted", size="six layers")], "refuted"),
        ([finding(), finding("refuted", size="six layers")], "mixed"),
        ([finding(), finding("inconclusive", size="six layers")], "undecided"),
        (
            [finding("refuted"), finding("inconclusive", conditions={"schedule": "no_warmup"})],
            "undecided",
        ),
        ([finding(), finding("refuted", arms="b - a"), finding("inconclusive", size="x")], "mixed"),
        # real text decides where it was asked beside an artificial language
        ([finding(), finding("refuted", data=("multi30k",))], "refuted"),
        ([finding("refuted"), finding(data=("shakespeare",), steps=(10,))], "supported"),
        ([finding(), finding("inconclusive", data=("multi30k",))], "undecided"),
        (
            [finding(data=("copy", "reverse", "count")), finding("refuted", data=("a.txt",))],
            "refuted",
        ),
        # ... of the same reading, and of trained models alone
        ([finding(reading="a"), finding("refuted", reading="b", data=("multi30k",))], "mixed"),
        ([finding(trained=False), finding("refuted", data=("multi30k",))], "mixed"),
        # remarks count where there is nothing else
        ([finding(), finding("refuted", reading="ours", asked=OURS)], "supported"),
        ([finding("refuted", reading="ours", asked=OURS)], "refuted"),
        # a trend that is supported on average reverses between two levels
        ([finding(kind="trend", reverses=True)], "mixed"),
        ([finding(reverses=True), finding("inconclusive", size="x")], "undecided"),
        ([finding("refuted", reverses=True)], "refuted"),
        # exploratory verdicts count for a reading that has no other verdict, and never alone
        ([finding(), finding("refuted", size="x", exploratory=True)], "supported"),
        ([finding(), finding("refuted", reading="b", exploratory=True)], "mixed"),
        ([finding(), finding("inconclusive", reading="b", exploratory=True)], "undecided"),
        ([finding(exploratory=True)], "undecided"),
        ([finding("refuted", exploratory=True), finding(reading="ours", asked=OURS)], "undecided"),
        # components that studies hold fixed in different ways make two settings
        ([finding("refuted", components=POST), finding(components=PRE, **LONG)], "mixed"),
        ([finding(components=POST), finding("inconclusive", components=ADAM, **LONG)], "undecided"),
        ([finding("refuted", device="cuda"), finding(device="cpu", **LONG)], "mixed"),
        ([finding("refuted", conditions=PRE), finding(components=PRE, **LONG)], "supported"),
        ([finding("refuted", components=ADAM), finding(components=PRE, **LONG)], "supported"),
        ([], "not tested"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])  # no order of verdicts matters
def test_the_word(findings, word, turned):
    assert headline(findings[::-1] if turned else findings).word == word


def test_one_counterexample_refutes_a_claim_without_exceptions():
    findings = [
        finding(data=("multi30k",), size="two layers"),
        finding("refuted", data=("multi30k",)),
    ]
    result = headline(findings, universal=True)
    assert (result.word, bool(result.reason)) == ("refuted", True)
    assert headline([SUPPORTED], universal=True).word == "supported"
    undecided = [finding(), finding("inconclusive", size="six layers")]
    assert headline(undecided, universal=True).word == "undecided"


@pytest.mark.parametrize(("p", "word"), [(0.02, "refuted"), (0.03, "mixed"), (None, "refuted")])
def test_a_counterexample_must_hold_after_a_correction_for_the_number_of_settings(p, word):
    """Each of two settings could show one by chance; an exact one leaves nothing to chance."""
    chance = {"p_look": {"supported": 1.0, "refuted": p}} if p else {"kind": "exact"}
    holds = finding(size="two layers", p_look={"supported": 0.001, "refuted": 1.0})
    result = headline([holds, finding("refuted", **chance)], universal=True)
    assert result.word == word


NEAR, FAR = (-0.5, (-2.5, 1.5)), (-9.0, (-11.0, -7.0))
OTHER = {"experiment": "another"}


def tried(word, p=0.001, effect=1.0, interval=(-1.0, 3.0), **changes):
    """Return a verdict that chance could have made."""
    values = {"supported": 1.0, "refuted": 1.0} | {word: p}
    return finding(word, p_look=values, effect=effect, interval=interval, **changes)


@pytest.mark.parametrize(
    ("tries", "word"),
    [
        ([tried("supported", 0.04), tried("supported", 0.04, **OTHER)], "supported"),
        ([tried("supported"), tried("refuted", effect=-1.0, **OTHER)], "undecided"),
        ([tried("supported", 0.02), tried("inconclusive", 1.0, *NEAR, **OTHER)], "supported"),
        ([tried("supported", 0.03), tried("inconclusive", 1.0, *NEAR, **OTHER)], "undecided"),
        ([tried("supported", 0.001), tried("inconclusive", 1.0, *FAR, **OTHER)], "undecided"),
        ([tried("refuted", 0.02), tried("inconclusive", 1.0, *NEAR, **OTHER)], "refuted"),
        # three tries: a third of alpha
        (
            [
                tried("supported", 0.02),
                tried("inconclusive", 1.0, *NEAR, **OTHER),
                tried("inconclusive", 1.0, *NEAR, experiment="a third"),
            ],
            "undecided",
        ),
        # another setting is no other try
        ([tried("supported", 0.04), tried("supported", 0.04, size="six layers")], "supported"),
        # equal in all seeds, of which three are too few
        (
            [
                tried("inconclusive", 1.0, 0.0, None, kind="exact"),
                tried("supported", 0.008, 0.0, None, kind="exact", **OTHER),
            ],
            "supported",
        ),
        # exact verdicts leave nothing to chance
        ([finding(kind="exact"), finding("refuted", kind="exact", **OTHER)], "undecided"),
    ],
)
def test_a_second_try_of_a_setting_is_paid_for(tries, word):
    assert headline(tries).word == headline(tries[::-1]).word == word
    assert headline(tries, universal=True).word == word


def again(word, p, effect, interval, **changes):
    """Return fresh seeds as contest.json has them."""
    fresh = {"verdict": word, "grade": "", "effect": effect, "interval": interval, "evidence": ""}
    fresh |= {} if p is None else {"p": {"supported": 1.0, "refuted": 1.0} | {word: p}}
    claim = {"id": "c", "reading": "", "statement": PLAIN, "replication": "", "first": fresh}
    return {**claim, "fresh": fresh, "exploratory": False} | changes


@pytest.mark.parametrize(
    ("first", "fresh", "word"),
    [
        (tried("supported", 0.02), ("inconclusive", 1.0, *NEAR), "supported"),
        (tried("supported", 0.001), ("inconclusive", 1.0, *FAR), "undecided"),
        (tried("supported", 0.001), ("refuted", 0.001, *FAR), "undecided"),
        (tried("inconclusive", 1.0), ("supported", 0.02, 2.0, (1.0, 3.0)), "supported"),
        (tried("inconclusive", 1.0), ("supported", 0.03, 2.0, (1.0, 3.0)), "undecided"),
        # earlier versions kept no p-value
        (tried("inconclusive", 1.0), ("supported", None, 2.0, (1.0, 3.0)), "undecided"),
        (tried("supported", 0.02), ("inconclusive", None, *NEAR), "supported"),
    ],
)
def test_fresh_seeds_are_a_second_try(first, fresh, word):
    result = headline([replace(first, replication=again(*fresh))])
    alone = headline([first]).word
    assert result.word == word
    assert any("fresh seeds" in sentence.lower() for sentence in limits(result)) == (word != alone)
    second = replace(first, replication=again(*fresh, exploratory=True))  # fresh seeds, asked twice
    assert headline([second]).word == alone


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ({"where": {"data": "copy"}}, {"data": ("copy",)}),
        ({"where": {"model.n_layers": 6}}, {"size": "micro, 64, 6"}),
        ({"where": {"budget.steps": 60}}, {"steps": (60,)}),
        ({"where": {"schedule": "noam"}}, {"conditions": {"schedule": "noam"}}),
    ],
)
def test_a_claim_about_a_level_is_of_the_setting_with_that_level(folders, verdict, claim, changed):
    """Another study of that level alone asks the same setting."""
    verdict("experiments/a", {"c": "supported"})
    path = folders / "experiments" / "a" / "verdict.json"
    whole = json.loads(path.read_text())
    whole["regime"] |= {"data": ["copy", "toy"], "d_model": 64, "n_layers": [2, 6]}
    whole["claims"][0] |= claim
    path.write_text(json.dumps(whole))
    ((collected,),) = collect(folders / "experiments").values()
    expected = {"data": ("copy", "toy"), "size": "micro, 64, [2, 6]", "conditions": {}} | changed
    assert {
        k: v for k, v in (vars(collected) | collected.setting).items() if k in expected
    } == expected


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "undecided"),
        ({"data": ("copy", "reverse", "count")}, "undecided"),
        ({"data": ("multi30k",)}, "refuted"),
        ({"trained": False}, "refuted"),
    ],
)
def test_artificial_languages_leave_a_sentence_about_real_text_undecided(changes, word):
    result = headline([finding("refuted", **changes)], real_text="A reason.")
    assert result.word == word
    assert ("A reason." in " ".join(limits(result))) == (word == "undecided")
    assert headline([finding("refuted", **changes)]).word == "refuted"


def test_a_part_of_a_claim_without_a_verdict_leaves_it_undecided():
    whole = headline([finding("supported")])
    part = headline([finding("supported")], unasked=["One half is missing."])
    assert (whole.word, part.word) == ("supported", "undecided")
    assert limits(part)[0] == "One half is missing."
    nothing = headline([], unasked=["Everything is missing."])
    assert (nothing.word, limits(nothing)) == ("not tested", ["Everything is missing."])


SMALL = {"grade": "direction only"}


@pytest.mark.parametrize(
    ("findings", "same"),
    [
        ([finding(**SMALL), finding(size="six layers", **SMALL)], True),
        ([finding(corrected="inconclusive")], True),
        ([finding(**SMALL), finding(size="six layers")], False),
        ([finding(**SMALL), finding("inconclusive", size="six layers")], False),
        ([finding("inconclusive", replication=again("supported", 0.02, 2.0, (1.0, 3.0)))], False),
    ],
)
def test_a_headline_has_the_grade_on_which_all_verdicts_agree(findings, same):
    result = headline(findings)
    assert (answer_of(result) != result.word) == same
    assert answer_of(headline([SUPPORTED])) == "supported"


def test_a_claim_in_a_list_shows_the_tested_sentences_and_their_answers():
    claims = read_claims()[:2]
    other = finding("inconclusive", statement="Another sentence.", data=("multi30k",))
    first, *parts, last = map(str, lines([Entry(claims[0], (SUPPORTED, other)), Entry(claims[1])]))
    assert claims[0].statement in first and claims[1].statement in last
    undecided, overruled = parts
    assert "Undecided" in undecided and "Another sentence" in undecided
    assert "Supported" in overruled and PLAIN in overruled


def test_a_missing_reading_has_no_verdict():
    entries = read_entries(catalogue_root())
    findings = [finding for entry in entries for finding in entry.findings]
    asked = {(x.answer["id"], x.reading) for x in findings if not x.answer["exploratory"]}
    for claim, readings in read_notes("unasked").items():
        for reading, sentence in readings.items():
            assert (claim, reading) not in asked, "it has a verdict now: leave it out"
            assert sentence.endswith(".")


def test_a_remark_does_not_decide_a_claim_whose_meaning_was_not_asked():
    entries = read_entries(catalogue_root())
    words = {entry.claim.id: entry.verdict for entry in entries}
    assert words["modern_sink"] == "not tested"
    assert words["modern_no_positions"] == "refuted"
    assert (words["modern_muon"], words["modern_rope"]) == ("undecided", "supported")


def test_an_exploratory_verdict_on_a_missing_part_leaves_it_missing():
    claim = next(claim for claim in read_claims() if claim.id == "modern_rms_norm")
    (part,) = read_notes("unasked")[claim.id]
    half = finding(reading=part, exploratory=True)
    assert Entry(claim, (SUPPORTED, half)).verdict == "undecided"
    assert (
        Entry(
            claim, (SUPPORTED, replace(half, answer=half.answer | {"exploratory": False}))
        ).verdict
        == "supported"
    )


def test_an_exploratory_counterexample_does_not_refute():
    exact = {"kind": "exact", "reading": "b"}
    verdicts = [SUPPORTED, finding("refuted", **exact)]
    assert headline(verdicts, universal=True).word == "refuted"
    verdicts = [SUPPORTED, finding("refuted", exploratory=True, **exact)]
    result = headline(verdicts, universal=True)
    assert result.word == "mixed"

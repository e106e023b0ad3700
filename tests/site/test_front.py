"""What a reader meets first: findings, answers to questions, titles, words, runs."""

import json
import re
from pathlib import Path

import pytest

from ablate.config.titles import experiment_title
from ablate.ledger.claims import read_claims
from ablate.ledger.questions import read_questions
from ablate.report.marks import arm_colours
from ablate.site.cards import SHOWN, cards, questions
from ablate.site.claim import clearest, views
from ablate.site.words import read_words

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("site")


def test_every_committed_experiment_has_a_title_and_a_purpose_of_its_own():
    titles = [experiment_title(path.stem) for path in (ROOT / "conf/experiment").glob("*.yaml")]
    assert all(one.title and one.purpose.endswith((".", "?")) for one in titles)
    assert len({one.title for one in titles}) == len({one.purpose for one in titles}) == len(titles)


@pytest.mark.parametrize("name", ["", "unknown", "../experiment/head_count", "a b", "<b>"])
def test_an_experiment_without_a_file_has_no_title(name):
    assert experiment_title(name) == ("", "")


def test_an_experiment_of_a_user_is_titled_by_its_name(experiment, build, pages, tmp_path):
    def named(known):
        known["verdict"]["experiment"] = "my_own_question"

    experiment("precision", named)
    assert build(tmp_path / "experiments", tmp_path / "site") == []
    found = {page.path.stem: page for page in pages(tmp_path / "site").values()}
    assert "my own question" in found["experiments"].text
    assert "Tests whether this holds: " in found["experiments"].text


def test_cards_show_decided_sentences_that_many_texts_say_one_of_each_experiment(site):
    shown = cards(site)
    experiments = [{f.experiment for f in card.entry.headline.deciding} for card in shown]
    assert len(shown) == SHOWN
    assert sum(map(len, experiments)) == len(set.union(*experiments))
    assert [card.mentions for card in shown] == sorted((c.mentions for c in shown), reverse=True)
    assert all(card.entry.verdict in ("supported", "refuted", "mixed") for card in shown)
    assert all(view.row in card.forest.rows for card in shown for view in card.views)


def test_every_question_is_answered_by_claims_that_were_tested(site):
    known = {claim.id for claim in read_claims()} | site.by_id.keys()
    assert {claim for one in read_questions() for claim in one.claims} <= known
    answered = dict(questions(site))
    assert answered.keys() == {one.text for one in read_questions()}
    assert all(views for answers in answered.values() for _, views in answers)


def test_a_claim_is_shown_with_a_verdict_that_a_correction_for_all_claims_leaves(site):
    def stays(view):
        return view.finding.ledger_wide in ("", None, view.finding.verdict)

    shown = 0
    for entry in site.entries:
        all_views = views(entry, site)
        for best in clearest(entry.verdict, all_views):
            alike = [
                v for v in all_views if v.decides and v.finding.verdict == best.finding.verdict
            ]
            assert stays(best) or not any(map(stays, alike)), entry.claim.id
            shown += any(not stays(v) for v in alike) and any(map(stays, alike))
    assert shown  # of some claims, only a part of the verdicts stay


def test_a_claim_begins_with_its_answer_and_folds_the_rest(committed):
    text = (committed / "claims/learned_equals_sinusoidal.html").read_text()
    order = ['<h1 class="statement">', "Said in", 'class="answer mixed"', "<figure", "Why believe"]
    places = [text.index(part) for part in (*order, '<details class="finding"')]
    assert places == sorted(places)
    assert text.count("<figure") == 1 and 'class="shade"' in text


def test_words_that_explain_themselves_have_a_meaning_each(committed):
    script = (committed / "words.js").read_text()
    meanings = json.loads(script.partition(" = ")[2].removesuffix(";\n"))
    assert meanings.keys() == {word.anchor for word in read_words()}
    used = re.findall(
        r'class="term" href="([^"]*)#([^"]*)"', (committed / "index.html").read_text()
    )
    assert used and {anchor for _, anchor in used} <= meanings.keys()


def test_every_run_has_an_address_and_an_arm_one_colour(committed):
    text = (committed / "data/preln_vs_postln.js").read_text()
    data = json.loads(text.partition("] = ")[2].removesuffix(";\n"))
    runs = (ROOT / "experiments/preln_vs_postln/runs.jsonl").read_text().splitlines()
    assert [run["id"] for run in data["runs"]] == [json.loads(run)["identity"] for run in runs]
    assert {run["arm"] for run in data["runs"]} == data["colours"].keys()
    assert len({*data["colours"].values()}) == 4
    assert all(run["command"] and run["levels"] for run in data["runs"])
    assert (committed / "runs/preln_vs_postln.html").exists()


def test_arms_have_the_colours_of_the_panels_of_a_report():
    arms = [f"arm {number}" for number in range(8)]
    assert [*arm_colours(arms).values()] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert arm_colours([]) == {}

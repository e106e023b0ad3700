"""What a reader meets first: findings, answers to questions, titles, words, runs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ablate.config.labels import experiment_title
from ablate.report.marks import arm_colours
from ablate.site.catalogue import read_questions
from ablate.site.front import CARDS, cards, questions
from ablate.site.guide import read_words
from ablate.site.view import clearest, views

from ..experiments import NAMES

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("site")


def test_every_committed_experiment_has_a_title_and_a_purpose_of_its_own():
    titles = [experiment_title(name) for name in NAMES]
    assert all(heading.title and heading.purpose.endswith((".", "?")) for heading in titles)
    assert (
        len({heading.title for heading in titles})
        == len({heading.purpose for heading in titles})
        == len(titles)
    )


@pytest.mark.parametrize("name", ["", "unknown", "../experiment/head_count", "a b", "<b>"])
def test_an_experiment_without_a_file_has_no_title(name):
    assert experiment_title(name) == ("", "")


def test_an_experiment_of_a_user_is_titled_by_its_name(experiment, build, pages, tmp_path):
    def named(parts):
        parts["verdict"]["experiment"] = "my_own_question"

    experiment("precision", named)
    assert build(tmp_path / "experiments", tmp_path / "site") == []
    by_name = {page.path.stem: page for page in pages(tmp_path / "site").values()}
    assert "my own question" in by_name["experiments"].text
    assert "Tests whether this holds: " in by_name["experiments"].text


def test_cards_show_decided_sentences_that_many_texts_say_one_of_each_experiment(site):
    shown = cards(site)
    experiments = [{f.experiment for f in card.entry.headline.deciding} for card in shown]
    assert len(shown) == CARDS
    assert sum(map(len, experiments)) == len(set.union(*experiments))
    assert [card.mentions for card in shown] == sorted((c.mentions for c in shown), reverse=True)
    assert all(card.entry.verdict in ("supported", "refuted", "mixed") for card in shown)
    assert all(view.row == row for card in shown for row, view in card.forest.rows)


def test_every_question_has_an_answer_for_the_headlines_of_its_claims(site):
    answered = questions(site)
    assert [asked.question for asked in answered] == read_questions()
    for asked in answered:
        headlines = {entry.claim.id: entry.verdict for entry, _ in asked.claims}
        assert headlines == asked.question.claims, asked.question.text
        assert asked.current and all(best for _, best in asked.claims)


def test_the_numbers_of_an_answer_stand_in_the_evidence(site):
    numbers = re.compile(r"\d+\.\d+|\d+ of \d+")
    checked = 0
    for asked in questions(site):
        evidence = " ".join(
            view.sentence for entry, _ in asked.claims for view in views(entry, site)
        )
        for number in numbers.findall(asked.question.answer):
            assert re.search(rf"(?<![\d.]){number}(?!\d)", evidence), (asked.question.text, number)
            checked += 1
    assert checked > 10


def test_an_answer_is_not_shown_when_a_headline_on_which_it_rests_has_changed(site):
    first = read_questions()[0]
    id_, *more_ids = first.claims
    (entry,) = [entry for entry in site.entries if entry.claim.id == id_]
    undecided = tuple(replace(finding, verdict="inconclusive") for finding in entry.findings)
    changed = replace(entry, findings=undecided)
    entries = [changed if old is entry else old for old in site.entries]
    asked = questions(replace(site, entries=entries))[0]
    assert not asked.current and [shown.claim.id for shown, _ in asked.claims] == [id_, *more_ids]


def test_an_answer_says_how_many_of_its_verdicts_are_certain(site):
    certainties = {asked.question.text: asked.certainty for asked in questions(site)}
    assert (
        "computed exactly"
        in certainties["Does the number of heads change the number of parameters?"]
    )
    openings = set()
    for asked in questions(site):
        shown = [view.finding for _, best in asked.claims for view in best]
        chance = [finding for finding in shown if finding.ledger_wide]
        decided = [finding for finding in chance if finding.verdict != "inconclusive"]
        lost = sum(finding.ledger_wide != finding.verdict for finding in decided)
        opening = "Very" if not lost else "Not very" if lost == len(decided) else "Partly"
        if chance:
            opening = opening if chance[0] in decided else "Not sure"
            openings.add(opening)
            assert asked.certainty.startswith(f"{opening}: "), asked.question.text
    assert openings == {"Very", "Partly", "Not very", "Not sure"}


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
    text = (committed / "claims/no_pe_order_errors.html").read_text()
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

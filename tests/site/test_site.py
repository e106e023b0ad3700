"""The site: linked, safe to open, and nothing else than what the evidence says."""

import json
import re
import shutil
from dataclasses import replace

import pytest

from ablate.ledger.verdicts import read_claims
from experiments.site.catalogue import read_questions
from experiments.site.front import questions
from experiments.site.view import views

from .conftest import EXPERIMENTS, LEFT_OUT, SHOWN

pytestmark = pytest.mark.xdist_group("site")  # one process builds it
HARM = '"><script>alert(1)</script><img src=x onerror=alert(1)></script>{{ 7 * 7 }}'


def test_every_claim_document_and_experiment_has_its_page(committed, pages):
    by_name = pages(committed)
    assert {f"claims/{claim.id}.html" for claim in read_claims()} <= by_name.keys()
    assert sum(name.startswith("documents/") for name in by_name) == 6
    for name in SHOWN:
        verdict = json.loads((EXPERIMENTS / name / "verdict.json").read_text())
        page = by_name[f"experiments/{name}.html"]
        assert all(claim["statement"] in page.text for claim in verdict["claims"])


def test_links_and_figures_lead_to_files_of_the_site(committed, pages):
    by_path = {(committed / name).resolve(): page for name, page in pages(committed).items()}
    for page in by_path.values():
        assert len(set(page.ids)) == len(page.ids) and not page.acts, page.path.name
        for link in [*page.links, *page.loads]:
            path, place = page.target(link)
            if link.startswith("https://") and link in page.links:
                continue
            assert path.is_relative_to(committed.resolve()) and path.is_file(), (page.path, link)
            assert not place or "=" in place or place in by_path[path].ids, (page.path, link)
    for path in committed.glob("*.*s"):  # style and scripts
        assert not re.search(r"https?://|@import|fetch\(|innerHTML", path.read_text())


def test_the_claim_of_the_readme_has_its_verdict_on_the_page_of_its_claim(committed, pages):
    """Real text leaves the claim undecided; on an artificial language it is supported."""
    quoted = "Without learning-rate warm-up, Pre-LN reaches a higher BLEU than Post-LN."
    name = "preln_better_without_warmup"
    text = " ".join(pages(committed)[f"claims/{name}.html"].text.split())
    deciding, _, others = text.partition("related sentences")
    assert quoted in text and "Undecided" in deciding and "+12.65" not in deciding
    assert "Supported" in others and "+12.65" in others
    first = (committed / "index.html").read_text()
    row = first[first.index(f'id="{name}"') :].partition("</tr>")[0]
    assert quoted in row  # for the search


def test_hostile_text_is_shown_and_nothing_else(build, pages, tmp_path):
    folder = tmp_path / "experiments" / "javascript:alert(1)"
    ignored = shutil.ignore_patterns(*LEFT_OUT, "study.json")
    shutil.copytree(EXPERIMENTS / "preln_vs_postln", folder, ignore=ignored)
    verdict = json.loads((folder / "verdict.json").read_text())
    del verdict["seal"]
    verdict["claims"][1] |= {"id": HARM, "statement": HARM, "margin_reason": HARM}
    caveat = {"code": "stated", "values": {"text": HARM}, "claims": []}
    verdict |= {"experiment": HARM, "caveats": [caveat]}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    (folder / "report.md").write_text(f"# {HARM}\n")
    by_name = pages(build(tmp_path / "experiments", tmp_path / "site"))
    assert sum(HARM in page.text for page in by_name.values()) >= 3
    for page in by_name.values():
        assert not page.acts and "alert(1)" not in "".join(page.loads)
        assert not any(link.startswith("javascript:") for link in page.links)
        assert page.path.name == re.sub(r"[^\w.+=-]", "", page.path.name)


def test_every_question_has_an_answer_for_the_headlines_of_its_claims(site):
    """An answer must be written again when a headline on which it rests changes."""
    answered = questions(site)
    assert [asked.question for asked in answered] == read_questions()
    for asked in answered:
        headlines = {entry.claim.id: entry.verdict for entry, _ in asked.claims}
        assert headlines == asked.question.claims, asked.question.text
        assert asked.current and all(best for _, best in asked.claims)


def test_the_numbers_of_an_answer_stand_in_the_evidence(site):
    checked = 0
    for asked in questions(site):
        evidence = " ".join(
            f"{view.sentence} {view.fresh}"
            for entry, _ in asked.claims
            for view in views(entry, site)
        )
        for number in re.findall(r"\d+\.\d+|\d+ of \d+", asked.question.answer):
            assert re.search(rf"(?<![\d.]){number}(?!\d)", evidence), (asked.question.text, number)
            checked += 1
    assert checked > 10


def test_an_answer_is_not_shown_when_a_headline_on_which_it_rests_has_changed(site):
    id_, *more_ids = read_questions()[0].claims
    (entry,) = [entry for entry in site.entries if entry.claim.id == id_]
    undecided = tuple(
        replace(finding, answer=finding.answer | {"verdict": "inconclusive"})
        for finding in entry.findings
    )
    changed = replace(entry, findings=undecided)
    entries = [changed if old is entry else old for old in site.entries]
    asked = questions(replace(site, entries=entries))[0]
    assert not asked.current and [shown.claim.id for shown, _ in asked.claims] == [id_, *more_ids]

"""The page: one file, whole, with everything in it."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ablate.ledger.claims import read_claims
from ablate.ledger.standings import read_standings

VOID = {"meta", "input", "br", "link", "img", "hr"}
CLAIM = "preln_solves_gradient_problem"


class Reader(HTMLParser):
    """Checks that every tag is closed where it should be, and gathers rows, links and texts."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.links, self.loads, self.text = [], {}, [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr" and given.get("class") == "claim":
            self.rows[given["id"]] = given
        if tag == "a":
            self.links.append(given["href"])
        self.loads += [given[key] for key in ("src", "srcset", "data", "action") if key in given]
        self.loads += [given["href"]] if tag == "link" else []

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def page(verdict, folders, command):
    """Write the page of a ledger with a few verdicts, and read it."""
    verdict("experiments/toy one", {CLAIM: "supported", "own_claim": "refuted"})
    verdict("experiments/real", {CLAIM: "refuted"}, 90, report="report.html", data="multi30k")
    verdict("results/sweeps/a/1", {"pe_unique": "supported"}, scale="smoke")
    assert command("ledger", "page=docs/ledger.html")[0] == 0
    written = Path("docs/ledger.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(written)
    reader.close()
    assert not reader.open
    return written, reader


def test_every_claim_is_a_row_with_what_the_filters_need(page):
    written, reader = page
    claims = read_claims()
    assert list(reader.rows) == [claim.id for claim in claims] + ["own_claim"]
    text = re.sub(r"\s+", " ", "".join(reader.text))
    for claim in claims:
        row = reader.rows[claim.id]
        assert claim.statement in text and claim.section in text and claim.metric in text
        assert row["data-group"] == claim.group and row["data-kind"] == claim.kind
        assert claim.document in row["data-document"].split("|")
        assert row["data-factor"] == "|".join(claim.factor_names)
    assert reader.rows[CLAIM]["data-verdict"] == "depends|tested"
    assert reader.rows["heads_8_or_16_usual"]["data-verdict"] == "no run decides"
    assert reader.rows["no_pe_bag_of_words"]["data-verdict"] == "not tested"


def test_it_loads_nothing(page):
    written, reader = page
    assert not reader.loads
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", written)


def test_all_regimes_are_shown_with_links_to_their_reports(page):
    written, reader = page
    assert "toy, micro model, cpu scale" in written and "multi30k, micro model" in written
    assert "../experiments/toy%20one/report.md" in reader.links
    assert "../experiments/real/report.html" in reader.links
    assert all(link.startswith(("../", "#")) for link in reader.links)
    for link in reader.links:
        if link.startswith("../"):
            assert Path("docs", link.replace("%20", " ")).exists()


def test_sentences_are_text_and_not_markup(page):
    written, _ = page
    assert "&lt;by&gt; 5 &amp; 6 seeds" in written and "<by>" not in written


def test_a_verdict_says_what_was_tested_where_that_is_not_the_claim_itself(page):
    written, _ = page
    row = written[written.index(f'id="{CLAIM}"') :].partition("</tr>")[0]
    assert row.count(f"tested as: It is said that {CLAIM}.") == 2
    row = written[written.index('id="own_claim"') :].partition("</tr>")[0]
    assert "tested as" not in row


def test_it_works_without_its_script(page):
    written, _ = page
    assert re.search(r'<form id="filters"[^>]* hidden>', written)
    counts = dict(re.findall(r'data-state="([^"]+)">(\d+)<', written))
    untested = len(read_claims()) - len(read_standings()) - 2
    assert counts == {
        **{"supported": "1", "refuted": "0", "inconclusive": "0", "depends": "1"},
        **{"no run decides": str(len(read_standings())), "not tested": str(untested)},
    }


def test_smoke_is_marked(page):
    written, _ = page
    row = written[written.index('id="pe_unique"') :].partition("</tr>")[0]
    assert "only shows that it runs" in row


def test_the_same_verdicts_give_the_same_page(page, command):
    written, _ = page
    command("ledger", "page=docs/ledger.html")
    assert Path("docs/ledger.html").read_text(encoding="utf-8") == written


def test_hostile_names_stay_text_and_links_stay_in_the_folder(verdict, folders, command):
    harm = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    named = {"experiment": harm, "data": harm, "model": harm, "scale": harm}
    verdict("experiments/javascript:alert(1)", {CLAIM: "refuted", harm: "supported"}, **named)
    command("ledger", "page=experiments/ledger.html")
    written = Path("experiments/ledger.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(written.partition("<script>\n")[0])
    assert harm in "".join(reader.text) and harm in reader.rows
    assert not {"script", "img"} & {*reader.open} and not reader.loads
    assert {link for link in reader.links if link[0] != "#"} == {
        "javascript%3Aalert%281%29/report.md"
    }

"""The generated pages are those of the code and of the evidence."""

import dataclasses
import json
from pathlib import Path

import pytest

from ablate.config.schema import Config
from ablate.ledger.text import read_entries
from ablate.report.draw import svg
from lab import keys, literature, options, picture

ROOT = Path(__file__).parents[2]
PAGES = {
    "docs/reference/keys.md": keys.page,
    "docs/reference/options.md": options.page,
    "docs/explanation/literature.md": literature.page,
    picture.PICTURE.as_posix(): lambda: svg(picture.picture()),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_that_of_the_code(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    written = Path(page).read_text(encoding="utf-8")
    assert written == PAGES[page](), f"run python -m {PAGES[page].__module__} to={page}"


def test_the_readme_is_short_and_shows_the_picture():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 90
    assert picture.PICTURE.as_posix() in readme


def test_the_page_of_modern_claims_has_their_verdicts_and_intervals():
    page = (ROOT / "docs/explanation/modern.md").read_text(encoding="utf-8")
    verdict = (ROOT / "experiments/modern_confirmation/verdict.json").read_text(encoding="utf-8")
    for claim in json.loads(verdict)["claims"][1:]:  # the first is the check
        a, b = claim["interval"]
        assert any(f"({x:.3f} to {y:.3f})" in page for x, y in ((a, b), (-b, -a))), claim["id"]
    for entry in read_entries(ROOT / "experiments"):
        row = f"{entry.claim.statement} | {entry.verdict} |"
        assert row in page or entry.claim.document != "The modern Transformer"


def test_every_key_of_the_schema_is_there_with_a_meaning():
    of_options = [key for *_, listed in keys.options() for key in listed]
    every = [*keys.keys_of_every_run(), *keys.keys_of_a_study(), *of_options]
    assert len(every) > 300
    assert [key.name for key in every if not key.meaning] == []
    first = {key.name.partition(".")[0].partition("[")[0] for key in every}
    missing = {field.name for field in dataclasses.fields(Config)} - first
    assert missing == {"metric", "validation_search"}  # the user's own, and a second search
    meanings = {key.meaning for key in every}
    assert [name for name, text in keys.SHARED.items() if text not in meanings] == []

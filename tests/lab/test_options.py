"""The page of all options is that of the code."""

from pathlib import Path

from lab.options import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"


def test_the_page_is_that_of_the_options():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run python -m lab.options to=docs/reference/options.md"
    )
    assert page().count("\n| `") > 80 and "| `rotary` | " in page()

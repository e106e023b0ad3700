"""The page that compares the screen of modern components with published results."""

from pathlib import Path

import pytest

from ablate.report.forest import BETTER, Component
from lab import literature

ROOT = Path(__file__).parents[2]
PAPER = {
    "variant": "swiglu",
    "source": "a paper",
    "setting": "a large model",
    "published": "better",
}


def variant(name="swiglu", effect=0.03, interval=(0.01, 0.05), shows=BETTER):
    return Component(name, effect, interval, shows)


def results(variant):
    return literature.Results({variant.name: variant}, 2.5, 0.02)


def test_the_page_is_that_of_the_verdicts(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "explanation" / "literature.md"
    assert page.read_text(encoding="utf-8") == literature.page(), (
        "run python -m lab.literature to=docs/explanation/literature.md"
    )


@pytest.mark.parametrize(
    ("published", "interval", "agreement"),
    [
        ("better", (0.001, 0.05), "yes"),
        ("better", (-0.001, 0.05), "open"),
        ("better", (-0.05, -0.001), "no"),
        ("worse", (-0.05, -0.001), "yes"),
        ("worse", (0.001, 0.05), "no"),
        ("the same", (-0.01, 0.021), "open"),
        ("the same", (0.021, 0.05), "no"),
        ("no worse", (-0.019, 0.05), "yes"),
    ],
)
def test_agreement_is_that_of_the_whole_interval(published, interval, agreement):
    paper = {**PAPER, "published": published}
    assert literature._paper(paper, results(variant(interval=interval)))[-1] == agreement


def test_changes_are_relative_to_the_loss():
    cells = literature._paper({**PAPER, "loss": [2.0, 1.97]}, results(variant()))
    assert cells[3:5] == ("better, -1.5 %", "better, -1.2 % (-2.0 to -0.4)")

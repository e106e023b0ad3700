"""The page that compares the screen of modern components with published results."""

from pathlib import Path

import pytest

from ablate.report.draw.screen import BETTER, Component
from lab import literature

ROOT = Path(__file__).parents[2]
PAPER = {"source": "a paper", "setting": "a large model", "published": "better"}


def variant(name="swiglu", effect=0.03, interval=(0.01, 0.05), shows=BETTER):
    return Component(name, effect, interval, shows, (None, None))


def results(*variants, superior=()):
    by_name = {variant.name: variant for variant in variants}
    return literature.Results(by_name, 2.5, 1000, 0.02, {*superior})


def test_the_page_is_that_of_the_verdicts(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "explanation" / "literature.md"
    assert page.read_text(encoding="utf-8") == literature.page(), (
        "run python -m lab.literature to=docs/explanation/literature.md"
    )


def test_every_published_result_that_is_not_confirmed_has_its_comparisons(monkeypatch):
    monkeypatch.chdir(ROOT)
    papers, _, rest = literature.page().partition("## Published results that are not confirmed")
    section = rest.partition("\n## ")[0]

    def rows(text):
        return [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"][2:]

    shown = {row[0]: row for row in rows(section)}
    assert shown.keys() == {row[0] for row in rows(papers) if row[5] != "yes"}
    early, late, captions = shown["relu_squared"][2:5]
    assert early.startswith("better") and late.startswith("undecided")
    assert captions.startswith("better") and shown["rms_norm"][4] == "-"


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
        ("no better", (0.021, 0.05), "no"),
    ],
)
def test_agreement_is_that_of_the_whole_interval(published, interval, agreement):
    paper = {**PAPER, "published": published}
    cells = literature._paper(paper, variant(interval=interval), results())
    assert cells[-2:] == (agreement, "-")


@pytest.mark.parametrize(
    ("after", "size"), [(1.9, "worse here"), (1.97, "yes"), (1.999, "better here")]
)
def test_changes_are_relative_to_the_loss(after, size):
    cells = literature._paper({**PAPER, "loss": [2.0, after]}, variant(), results())
    assert cells[3] == f"better, {50 * after - 100:+.1f} %"
    assert cells[4] == "better, -1.2 % (-2.0 to -0.4)"
    assert cells[-1] == size


def test_an_experience_compares_two_variants_or_counts_them():
    experience = {"source": "a log", "says": "squares are better"}
    pair = {**experience, "first": "swiglu", "second": "relu_squared"}
    both = results(variant(), variant("relu_squared", 0.05), superior=["swiglu"])
    (cells,) = literature._experiences([pair], both)
    assert cells[2].startswith("swiglu has 0.020 bits per byte more than relu_squared")
    for checks, counts in (([], "1 of 2"), (["swiglu"], "0 of 1")):
        (cells,) = literature._experiences([{**experience, "except": checks}], both)
        assert cells[2] == f"{counts} variants are better in loss, after Holm's correction"
    assert [*literature._experiences([pair], results(variant()))] == []


def test_an_experience_with_one_variant_is_compared_with_its_verdict():
    experience = {"source": "a log", "says": "no gain", "variant": "swiglu", "published": "worse"}
    (cells,) = literature._experiences([experience], results(variant()))
    assert cells[2:] == ("swiglu: better, -1.2 % (-2.0 to -0.4)", "no")
    assert [*literature._experiences([experience], results())] == []

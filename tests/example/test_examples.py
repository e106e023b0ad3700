"""Worked examples: what is read from the text, and what follows from what."""

from pathlib import Path

import pytest

from experiments.worked_examples.block import Block, Example, names, read
from experiments.worked_examples.page import index, page
from experiments.worked_examples.recompute import recompute, registered_rule, totals
from experiments.worked_examples.transcribe import find_text, rows

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT.parent / "shared" / "documents"
PAGES = ROOT / "experiments" / "worked_examples" / "pages"
RULE = registered_rule()


def made(*blocks):
    return Example("made", "a text", "a section", "", blocks[0].name, blocks)


def block(name, *printed, by="", operands=(), **more):
    return Block(name, (1, 1), printed, by=by, operands=operands, **more)


X, W = block("X", "1.0 2.0"), block("W", "0.5 0.0", "0.0 0.25")


def states(*blocks):
    return {result.block.name: result.state for result in recompute(made(*blocks), RULE)}


@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the documents are not at hand")
@pytest.mark.parametrize("name", names())
def test_numbers_are_those_of_the_text(name):
    example = read(name)
    text = find_text(DOCUMENTS, example.sha256)
    assert text is not None
    for entry in example.blocks:
        first, last = entry.lines
        assert rows(text[first - 1 : last], entry.take) == list(entry.printed), entry.name


def test_an_entry_follows_rounds_loosely_or_differs():
    results = recompute(made(X, W, block("Y", "0.5 0.6", by="product", operands=("X", "W"))), RULE)
    assert totals(results) == {"entries": 8, "input": 6, "follows": 1, "rounding": 1, "differs": 0}
    assert states(X, W, block("Y", "0.5 0.7", by="product", operands=("X", "W")))["Y"] == "differs"


def test_what_follows_from_a_wrong_block_is_inherited():
    wrong = block("Y", "9.5 0.5", by="product", operands=("X", "W"))
    outcomes = states(
        *(X, W, wrong),
        block("again", "9.5 0.5", by="copy", operands=("Y",)),
        block("Z", "4.75 0.13", by="product", operands=("again", "W")),
        block("elsewhere", "1", by="unprinted"),
    )
    assert outcomes["again"] == "re-print" and outcomes["Z"] == "inherited"
    assert outcomes["elsewhere"] == "not checkable"


@pytest.mark.parametrize("name", names())
def test_the_committed_page_is_the_present_one(name):
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == page(read(name), RULE)


def test_the_committed_totals_are_the_present_ones():
    examples = [read(name) for name in names()]
    assert (PAGES / "README.md").read_text(encoding="utf-8") == index(examples, RULE)

"""Worked examples: what is read from the text, and what follows from what."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ablate.errors import UserError
from experiments.worked_examples.block import Block, Example, names, read
from experiments.worked_examples.page import index, page
from experiments.worked_examples.recompute import (
    broken,
    chain,
    count_changed_numbers,
    recompute,
    registered_rule,
    totals,
    unequal_twins,
)
from experiments.worked_examples.slips import slip
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


def test_numbers_are_read_behind_the_last_sign_and_before_a_comment():
    assert rows(["a = b = [0.10, -2]  # 7", "nothing"], None) == ["0.10 -2"]
    assert rows(["[1 * 2, 3 * 4] = [5]"], r"(\d) \*") == ["1 3"]


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


def test_laws_need_no_operand():
    short = block("A", "0.10 0.38 0.13 0.33", laws=("sum to one",))
    assert broken(short, {}) == 1
    assert broken(replace(short, printed=("0.14 0.38 0.14 0.33",)), {}) == 0
    outside = block("Z", "1.0 2.2", operands=("V",), laws=("within the last operand",))
    assert broken(outside, {"V": torch.tensor([[0.0, 2.0], [2.0, 1.0]]).double()}) == 1


def test_twins_that_are_printed_otherwise_are_seen():
    twin = block("Q", "0.5 0.5", by="product", operands=("X", "W"))
    assert unequal_twins(made(X, W, twin, replace(twin, name="V"))) == 0
    assert unequal_twins(made(X, W, twin, replace(twin, name="V", printed=("0.5 0.6",)))) == 1


def test_another_shape_than_printed_is_named():
    with pytest.raises(UserError, match=r"Y .*\(1, 1\).*\(1, 2\)"):
        states(X, W, block("Y", "1", by="product", operands=("X", "W")))


def test_the_only_slip_that_explains_a_block_is_told():
    b = block("b", "1.0 1.0")
    wrong = block("Y", "0.5 0.5", by="affine", operands=("X", "W", "b"))
    example = made(X, W, b, wrong)
    printed = {entry.name: entry.values for entry in example.blocks}
    assert slip(recompute(example, RULE)[-1], printed, RULE) == "without the bias"


@pytest.mark.parametrize("name", names())
def test_every_example_could_have_failed(name):
    assert count_changed_numbers(read(name)) > 0


def test_a_wrong_component_fails_on_an_example(monkeypatch):
    from ablate.model.embedding import Table

    assert totals(recompute(read("embedding"), RULE))["differs"] == 0
    right = Table.forward
    monkeypatch.setattr(Table, "forward", lambda self, tokens: right(self, tokens.flip(0)))
    assert totals(recompute(read("embedding"), RULE))["differs"] > 0


def test_the_chain_is_what_the_components_compute():
    from ablate.model.attention.explicit import Explicit
    from ablate.model.padding import Mask
    from ablate.model.position.added import Sinusoidal

    tensors = chain(read("attention"))
    kernel = Explicit(d_head=3, dropout=0.0, scale="sqrt_d_head", fill="minus_inf")
    q, k, v = (tensors[name][None, None] for name in "QKV")
    torch.testing.assert_close(kernel(q, k, v, Mask(), None)[0, 0], tensors["Z"])
    table = Sinusoidal(d_model=4, layout="interleaved", spacing="half").table
    torch.testing.assert_close(chain(read("positions"))["encodings"].float(), table[:3])


@pytest.mark.parametrize("name", names())
def test_the_committed_page_is_the_present_one(name):
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == page(read(name), RULE)


def test_the_committed_totals_are_the_present_ones():
    examples = [read(name) for name in names()]
    assert (PAGES / "README.md").read_text(encoding="utf-8") == index(examples, RULE)

"""What is checked before the first cell of a sweep trains."""

from collections import namedtuple

import pytest

from ablate.errors import UserError
from ablate.sweep import preflight
from ablate.sweep.cell import Cell


@pytest.fixture
def cell(small, compose):
    return lambda *overrides: Cell(
        0, "the only one", overrides, compose(*small, *overrides, hydra_node=True)
    )


def test_a_full_disk_is_seen_before_work(cell, monkeypatch):
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda path: usage(100, 99, 1))
    with pytest.raises(UserError, match=r"paths\.results="):
        preflight.preflight([cell()])


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("model.n_heads=3", "model.n_heads"),
        ("test_splits=[tset]", "test_splits"),
        ("adapt=freeze_inputs", "adapt.parts"),
    ],
)
def test_a_bad_cell_is_named_with_what_is_wrong(cell, override, words):
    with pytest.raises(UserError, match=f"cell 0 .*{words}"):
        preflight.preflight([cell(override)])


def test_initial_values_that_do_not_suit_an_arm_are_refused_before_any_run(cell):
    peri_ln, zero = "model/residual=peri_ln", "initial=zero_output"
    with pytest.raises(UserError, match="initial=zero_output"):
        preflight.preflight([cell(peri_ln), cell(peri_ln, zero)])
    assert preflight.preflight([cell(zero)]).jobs

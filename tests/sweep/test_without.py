"""Arms of a product of factors that nobody asks for do not run."""

import pytest
from omegaconf import OmegaConf

from ablate.sweep.cell import Cell
from ablate.sweep.runs import leave_out


def cell(number, *overrides):
    node = {"runtime": {"choices": {}}, "overrides": {"task": overrides}}
    values = OmegaConf.from_dotlist(list(overrides))
    config = OmegaConf.merge({"study": None, "hydra": node}, values)
    return Cell(number, " ".join(overrides), overrides, config)


@pytest.fixture
def cells():
    arms = [(f"position={p}", f"width={w}") for p in ("sine", "table") for w in (2, 3)]
    return [cell(n, *arm, "seed=0") for n, arm in enumerate(arms)]


def kept(cells, *without):
    return [cell.number for cell in leave_out(cells, without)]


def test_an_arm_is_left_out_by_all_of_its_levels(cells):
    assert kept(cells, {"position": "table", "width": 3}) == [0, 1, 2]
    assert kept(cells, {"position": "table"}) == [0, 1]
    assert kept(cells, {"position": "sine", "width": 2}, {"width": 3}) == [2]

"""The arms of a sweep are what its study says, or nothing runs."""

import pytest
from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.sweep.cell import Cell

CLAIM = {
    "id": "mine",
    "statement": "Pre-LN is better",
    "source": "nowhere",
    "kind": "superiority",
    "metric": "test/bleu",
    "treatment": {"model/residual": "pre_ln"},
    "baseline": {"model/residual": "post_ln"},
}
STUDY = {"factors": ["model/residual", "model/padding"], "claims": [CLAIM]}


@pytest.fixture
def checked(small, compose):
    """Check a sweep over some arms, each given by its overrides."""
    from ablate.run import prepare_data
    from ablate.schema import Study
    from ablate.sweep.arms import check_arms
    from ablate.sweep.cell import plain_study

    def go(*arms, **more):
        cells = []
        for number, overrides in enumerate(arms):
            config = compose(*small, *overrides, hydra_node=True)
            OmegaConf.set_readonly(config, False)
            config.study = OmegaConf.merge(OmegaConf.structured(Study), STUDY | more)
            cells.append(Cell(number, " ".join(overrides), tuple(overrides), config))
        data = {cell.number: prepare_data(cell.task_config()) for cell in cells}
        return check_arms(cells, plain_study(cells[0].config), data)

    return go


POST, PRE = ("model/residual=post_ln",), ("model/residual=pre_ln",)


def test_two_arms_that_differ_in_their_factor_pass(checked):
    assert checked(POST, PRE) is None


def test_what_is_swept_must_be_a_factor(checked):
    with pytest.raises(UserError, match=r"optimizer.lr differs between the cells.*its factors are"):
        checked((*POST, "optimizer.lr=0.1"), (*PRE, "optimizer.lr=0.2"))


def test_a_nuisance_may_differ(checked):
    arms = ((*POST, "optimizer.lr=0.1"), (*PRE, "optimizer.lr=0.2"))
    assert checked(*arms, nuisance=["optimizer.lr"]) is None


def test_the_arms_of_a_claim_must_exist(checked):
    with pytest.raises(UserError, match=r"claims, mine: no cell has model/residual=pre_ln"):
        checked(POST, ("model/residual=none",))


def test_arms_that_train_alike_are_refused(checked):
    # the rows of padding change nothing that is learnt from
    arms = [(*POST, "model/padding=columns"), (*POST, "model/padding=rows_and_columns"), PRE]
    with pytest.raises(UserError, match="are the same after 2 training steps; say study.expect"):
        checked(*arms)
    assert checked(*arms, expect="identical") is None

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
    from ablate.config.schema import StudyNode
    from ablate.sweep.cell import plain_study
    from ablate.sweep.preflight import BuiltArm, check_arms
    from ablate.sweep.runs import check_claims
    from ablate.train.job import build_model, prepare_data
    from ablate.train.resolve import resolve

    def go(*arms, **more):
        cells = []
        for number, overrides in enumerate(arms):
            config = compose(*small, *overrides, hydra_node=True)
            OmegaConf.set_readonly(config, False)
            config.study = OmegaConf.merge(OmegaConf.structured(StudyNode), STUDY | more)
            cells.append(Cell(number, " ".join(overrides), tuple(overrides), config))
        check_claims(cells, plain_study(cells[0].config))
        jobs = {cell.number: resolve(cell.task_config()) for cell in cells}
        data = {number: prepare_data(job) for number, job in jobs.items()}
        built = {
            number: BuiltArm(job, data[number], build_model(job, data[number]))
            for number, job in jobs.items()
        }
        return check_arms(cells, plain_study(cells[0].config), built)

    return go


POST, PRE = ("model/residual=post_ln",), ("model/residual=pre_ln",)


def test_the_arms_of_a_claim_must_exist(checked):
    with pytest.raises(UserError, match="mine.*model/residual=pre_ln"):
        checked(POST, ("model/residual=none",))


def test_the_arm_that_must_lose_has_the_other_levels_of_the_baseline(checked):
    sides = {
        "treatment": {"model/residual": "pre_ln", "model/padding": "rows"},
        "baseline": {"model/residual": "post_ln", "model/padding": "rows"},
        "loses": {"model/residual": "none"},
    }
    claim = CLAIM | sides | {"kind": "non_inferiority", "margin": 1.0}
    arms = [(f"model/residual={each}", "model/padding=rows") for each in ("pre_ln", "post_ln")]
    with pytest.raises(UserError, match="model/residual=none, model/padding=rows"):
        checked(*arms, ("model/residual=none", "model/padding=columns"), claims=[claim])


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"metric": "test/blue"}, "mine: metric=test/blue"),
        ({"control": "probe/control"}, "mine: control=probe/control"),
        (
            {"kind": "trend", "over": "model/residual", "treatment": {}, "baseline": {}},
            "mine: over=model/residual",
        ),
    ],
)
def test_what_could_not_be_judged_is_refused_before_any_run(checked, claim, words):
    with pytest.raises(UserError, match=words):
        checked(POST, PRE, claims=[CLAIM | claim])


def test_arms_that_train_alike_are_refused(checked):
    # the rows of padding change nothing that is learnt from
    arms = [(*POST, "model/padding=columns"), (*POST, "model/padding=rows_and_columns"), PRE]
    with pytest.raises(UserError, match="study.expect=identical"):
        checked(*arms)
    assert checked(*arms, expect="identical") is None


@pytest.mark.parametrize(
    ("metric", "given", "direction"),
    [("test/nll", "", "lower"), ("test/bleu", "", "higher"), ("test/nll", "higher", "higher")],
)
def test_a_claim_is_tested_in_the_better_direction_of_its_metric(compose, metric, given, direction):
    from ablate.config.schema import StudyNode
    from ablate.sweep.cell import plain_study

    claim = STUDY["claims"][0] | {"metric": metric} | ({"better": given} if given else {})
    tune = {"key": "optimizer.lr", "values": [1, 2], "seeds": [9], "metric": metric}
    config = compose()
    OmegaConf.set_readonly(config, False)
    config.study = OmegaConf.merge(
        OmegaConf.structured(StudyNode), STUDY | {"claims": [claim], "tune": tune}
    )
    study = plain_study(config)
    assert study["claims"][0]["better"] == direction
    assert study["tune"]["better"] == ("lower" if metric == "test/nll" else "higher")

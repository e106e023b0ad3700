"""Arms that are made alike in size or in cost before they run."""

import pytest
from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.model import linear
from ablate.model.attention import fused
from ablate.model.linear import has_onednn
from ablate.record.results import read_sealed
from ablate.sweep.cell import Cell, write_link
from ablate.sweep.matching import flops, matched_jobs, solve
from ablate.train.job import build_model, parameters, prepare_data
from ablate.train.resolve import resolve

ARMS = ("sinusoidal", "learned")
BY_SIZE = {"by": "parameters", "to": {"model/position": "learned"}, "key": "model.d_ff"}
BY_COST = {"by": "flops", "to": {"model.d_ff": 64}, "key": "model.d_ff"}


@pytest.fixture
def cells(small, compose):
    """Cells with these factors, each by its overrides."""
    from ablate.config.schema import StudyNode

    def made(factors, *arms, match=None):
        composed = []
        for number, overrides in enumerate(arms):
            config = compose(*small, *overrides, hydra_node=True)
            OmegaConf.set_readonly(config, False)
            config.study = OmegaConf.merge(
                OmegaConf.structured(StudyNode), {"factors": factors, "claims": [], "match": match}
            )
            composed.append(Cell(number, " ".join(overrides), tuple(overrides), config))
        return composed

    return made


def test_a_width_makes_up_for_the_parameters_of_another_level(cells):
    arms = cells(["model/position"], *((f"model/position={arm}", "seed=1") for arm in ARMS))
    wider, same = matched_jobs(arms, BY_SIZE)
    assert same == arms[1].overrides  # what is matched to stays as it is
    key, _, width = wider[2].partition("=")

    def size(cell, **widths):
        config = cell.task_config()
        OmegaConf.update(config, key, widths.get("width", config.model.d_ff))
        job = resolve(config)
        return parameters(build_model(job, prepare_data(job)))

    sizes = [size(arms[0]), size(arms[0], width=int(width)), size(arms[1])]
    assert sizes[1] == pytest.approx(sizes[2], rel=0.01) and sizes[0] < 0.9 * sizes[2]


def test_a_budget_makes_up_for_the_cost_of_an_update(cells):
    widths = [(f"model.d_ff={width}", "seed=1", "budget.short=2") for width in (64, 128)]
    first, second = matched_jobs(cells(["model.d_ff"], *widths), BY_COST)
    steps, short = (int(word.partition("=")[2]) for word in second[3:])
    assert first == widths[0]
    assert 2 < steps < 4 and short < steps  # of 4 and 2: twice the width is not twice the cost


def test_operations_of_fused_kernels_are_counted(small, compose, monkeypatch):
    def operations(attention):
        job = resolve(compose(*small, "model.dropout.rate=0.0", f"model/attention={attention}"))
        data = prepare_data(job)
        job.task.begin(data.tokenizers)
        return flops(job, data)

    monkeypatch.setattr(fused, "FEW", 0)  # also few keys are left to torch's kernel
    by_blas = {attention: operations(attention) for attention in ("off", "explicit", "fused")}
    products = {attention: count - by_blas["off"] for attention, count in by_blas.items()}
    # two products forward, and four backward or, with the scores computed anew, five
    assert products["fused"] == pytest.approx(7 / 6 * products["explicit"]) and products["fused"]
    if has_onednn():
        monkeypatch.setattr(linear, "_chosen", "onednn")
        assert {attention: operations(attention) for attention in by_blas} == by_blas


def test_the_nearest_number_is_found_or_the_arm_is_refused():
    assert [solve(lambda n: 10 * n, target, "") for target in (1000, 1004, 1006)] == [100, 100, 101]
    for size in (lambda n: 400 + 100 * n, lambda n: 100):
        with pytest.raises(UserError):
            solve(size, 200, "")


def test_a_link_says_what_was_matched_beside_what_became_of_the_cell(cells):
    (cell,) = cells(["model/position"], ("model/position=learned", "seed=1"), match=BY_SIZE)
    write_link(cell, {"status": "finished", "identity": "abc"})
    link = read_sealed(cell.link)
    assert (link["status"], link["identity"]) == ("finished", "abc")
    assert link["matched"] == {"model.d_ff": cell.config.model.d_ff}

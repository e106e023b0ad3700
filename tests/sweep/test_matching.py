"""Arms that are made alike in size before they run."""

import pytest
from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.record.files import read_sealed
from ablate.sweep.adjust import matched_jobs, solve
from ablate.sweep.cell import Cell, write_outcome
from ablate.train.job import build_model, parameters, prepare_data
from ablate.train.resolve import resolve

ARMS = ("sinusoidal", "learned")
BY_SIZE = {"by": "parameters", "to": {"model/position": "learned"}, "key": "model.d_ff"}


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


def test_the_nearest_number_is_found_or_the_arm_is_refused():
    assert [solve(lambda n: 10 * n, target, "") for target in (1000, 1004, 1006)] == [100, 100, 101]
    for size in (lambda n: 400 + 100 * n, lambda n: 100):
        with pytest.raises(UserError):
            solve(size, 200, "")


def test_a_link_says_what_was_matched_beside_what_became_of_the_cell(cells):
    (cell,) = cells(["model/position"], ("model/position=learned", "seed=1"), match=BY_SIZE)
    write_outcome(cell, {"status": "finished", "identity": "abc"})
    link = read_sealed(cell.outcome_path)
    assert (link["status"], link["identity"]) == ("finished", "abc")
    assert link["matched"] == {"model.d_ff": cell.config.model.d_ff}

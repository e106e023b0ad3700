"""A sweep in stages: which cells run, and when it is looked at."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from ablate.sweep.cell import Cell
from ablate.sweep.compose import stages
from ablate.sweep.launch import Worker

CLAIM = {"kind": "superiority"}


class Known(Cell):
    """A cell whose levels are known."""

    @property
    def levels(self):
        return {"variant": self.label}


def cell(number, arm, seed):
    return Known(number, arm, (), OmegaConf.create({"seed": seed}))


@pytest.fixture
def cells():
    return [cell(12 * i + s, arm, s) for i, arm in enumerate("ab") for s in range(12)]


def test_a_stage_has_the_same_seeds_of_every_arm(cells):
    study = {"seeds": 12, "looks": 3, "claims": [CLAIM]}
    planned = [
        [(run.levels["variant"], run.seed) for run in stage] for stage in stages(cells, study)
    ]
    ends = [range(4), range(4, 8), range(8, 12)]
    assert planned == [[(arm, seed) for arm in "ab" for seed in end] for end in ends]
    assert stages(cells, None) == stages(cells, {**study, "looks": 1}) == [cells]
    assert [len(stage) for stage in stages(cells[:5], study)] == [4, 1]


def test_further_seeds_of_a_baseline_are_spread_over_the_stages():
    seeds = {"baseline": 24, "a": 12}
    cells = [cell(s, arm, s) for arm, n in seeds.items() for s in range(n)]
    study = {"seeds": 12, "baseline_seeds": 24, "looks": 3, "claims": [CLAIM]}
    planned = [[run.levels["variant"] for run in stage] for stage in stages(cells, study)]
    assert [stage.count("a") for stage in planned] == [4, 4, 4]
    assert [stage.count("baseline") for stage in planned] == [8, 8, 8]


def test_a_look_waits_for_its_seeds_and_ends_arms(cells):
    done, work = [], SimpleNamespace(total=24)
    answers = iter([[{"variant": "a"}], []])
    worker = SimpleNamespace(
        work=work,
        sweep=SimpleNamespace(cells=cells, tune=None),
        run=lambda wanted: done.append([run.number for run in wanted]),
        analyse=lambda number: done.append(f"look {number}") or next(answers),
    )
    planned = stages(cells, {"seeds": 12, "looks": 3, "claims": [CLAIM]})
    ran = Worker.run_stages(worker, planned)
    assert done == [[0, 1, 2, 3, 12, 13, 14, 15], "look 0", [4, 5, 6, 7], "look 1"]
    assert work.total == 24 - 4 - 8
    assert ran == len([*done[0], *done[2]])

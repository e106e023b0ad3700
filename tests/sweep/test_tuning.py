"""A nuisance is chosen for every arm on validation."""

import json
from unittest.mock import Mock

import pytest
from hydra.types import HydraContext
from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.evidence.registration import screening_seeds
from ablate.sweep.adjust import choose, screening_jobs, tuned_jobs, wider_jobs
from ablate.sweep.cell import Cell
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.runs import _replicates

TUNE = {"key": "lr", "values": [1, 2], "seeds": [8, 9], "metric": "val/nll", "better": "lower"}


def cell(arm, seed, number=0):
    overrides = [f"arm={arm}", f"seed={seed}"]
    node = {"runtime": {"choices": {}}, "overrides": {"task": overrides}}
    config = OmegaConf.create({"arm": arm, "seed": seed, "study": None, "hydra": node})
    return Cell(number, arm, tuple(overrides), config)


def link(arm, value, nll, status="finished", seed=8):
    return {
        "levels": {"arm": arm},
        "seed": seed,
        "tuned": {"key": "lr", "value": value},
        "metrics": {"val/nll": nll, "unigram_nll": 5.0},
        "status": status,
    }


def test_every_arm_is_screened_with_every_value_by_every_replicate():
    cells = [cell(arm, seed) for arm in "ab" for seed in (1, 2, 3)]
    jobs = screening_jobs(cells, TUNE, screening_seeds((1, 2, 3), TUNE))
    assert len(jobs) == len(set(jobs)) == 2 * 3 * 2
    assert jobs[:3] == [
        ("arm=a", "lr=1", "seed=8", "test_splits=[]"),
        ("arm=a", "lr=2", "seed=8", "test_splits=[]"),
        ("arm=a", "lr=1", "seed=9", "test_splits=[]"),
    ]


def test_too_few_screening_seeds_are_counted_on_and_too_many_are_left():
    assert screening_seeds([3, 1, 2, 4, 3], TUNE) == {1: 8, 2: 9, 3: 10, 4: 11}
    assert screening_seeds([3], TUNE) == {3: 8}


def test_a_part_of_a_study_tunes_with_the_seeds_of_the_whole_study():
    """A run of a part is then the run of the study that is made in one go."""
    config = OmegaConf.create({"hydra": {"sweeper": {"params": {"seed": "range(3)"}}}})
    nowhere = HydraContext(config_loader=Mock(), callbacks=Mock())
    study = {"seeds": 3, "claims": []}
    for seeds in ([1], [0, 1, 2]):
        cells = [cell("a", seed) for seed in seeds]
        sweep = PlannedSweep(nowhere, config, study, cells, cells, [], {})
        assert _replicates(sweep) == {0, 1, 2}


@pytest.mark.parametrize(("seeds", "shared"), [((8,), 8), ((1, 2, 10), 10)])
def test_a_seed_of_the_verdict_may_not_choose(seeds, shared):
    with pytest.raises(UserError, match=f"study.tune.seeds=.*{shared}"):
        screening_jobs([cell("a", seed) for seed in seeds], TUNE, screening_seeds(seeds, TUNE))


def test_every_replicate_of_an_arm_takes_what_its_own_screening_found():
    links = [link("a", 1, 3.0), link("a", 2, 1.9), link("a", 1, 1.0, seed=9)]
    links += [link("a", 2, 1.9, seed=9), link("b", 1, 1.0), link("b", 2, 2.0)]
    jobs = tuned_jobs([cell("a", 1), cell("a", 2)], links, TUNE, {1: 8, 2: 9})
    assert jobs == [("arm=a", "seed=1", "lr=2"), ("arm=a", "seed=2", "lr=1")]
    assert tuned_jobs([cell("b", 1)], links, TUNE, {1: 8}) == [("arm=b", "seed=1", "lr=1")]


def test_a_grid_goes_on_beyond_the_edge_that_is_best():
    """Replicate 1 is best at the upper edge, 2 inside, 3 at the lower edge."""
    scores = {8: (3.0, 2.0, 1.0), 9: (3.0, 1.0, 2.0), 10: (1.0, 2.0, 3.0)}
    tune = {**TUNE, "values": [0.001, 0.003, 0.01]}
    links = [
        link("a", rate, nll, seed=seed)
        for seed, losses in scores.items()
        for rate, nll in zip(tune["values"], losses, strict=True)
    ]
    cells = [cell("a", seed, number=seed + 20) for seed in (1, 2, 3)]
    seeds = {1: 8, 2: 9, 3: 10}
    assert wider_jobs(cells, links, tune, seeds) == {
        21: ("arm=a", "lr=0.0333", "seed=8", "test_splits=[]"),
        23: ("arm=a", "lr=0.000333", "seed=10", "test_splits=[]"),
    }
    links += [link("a", 0.0333, 1.5), link("a", 0.000333, 0.5, seed=10)]
    assert wider_jobs(cells, links, tune, seeds) == {
        23: ("arm=a", "lr=0.000111", "seed=10", "test_splits=[]")
    }


def test_a_grid_of_whole_numbers_goes_on_with_whole_numbers():
    links = [link("a", 2, 1.0), link("a", 3, 2.0), link("a", 200, 3.0, seed=9)]
    links += [link("a", 400, 1.0, seed=9)]
    jobs = wider_jobs([cell("a", 1), cell("a", 2, 1)], links, TUNE, {1: 8, 2: 9})
    assert [job[1] for job in jobs.values()] == ["lr=1", "lr=800"]


@pytest.mark.parametrize("values", [["a", "b"], [0.0, 0.1], [1], [2, 1], [1.0, 1.001]])
def test_a_grid_that_has_no_next_value_ends_as_it_is(values):
    links = [link("a", value, 1.0 - at) for at, value in enumerate(values)]
    assert wider_jobs([cell("a", 1)], links, {**TUNE, "values": values}, {1: 8}) == {}


def test_of_two_budgets_a_rate_is_tried_at_the_short_one():
    short_cell = cell("a", 1)
    short_cell.arm.budget = {"steps": 2400, "short": 600}
    job, _ = screening_jobs([short_cell], TUNE, {1: 8})
    assert job[-3:] == ("test_splits=[]", "budget.steps=600", "budget.short=null")


def test_a_diverged_run_counts_against_its_value():
    links = [link("a", 1, 0.1, "diverged"), link("a", 2, 4.0)]
    assert choose(links, TUNE, cell("a", 1)) == 2
    assert choose(links, {**TUNE, "better": "higher"}, cell("a", 1)) == 1


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_a_diverged_run_without_a_score_is_worse_than_every_other_run(better):
    tune = {**TUNE, "metric": "val/perplexity", "better": better}
    learned = {**link("a", 2, 4.0), "metrics": {"val/perplexity": 54.6}}
    assert choose([link("a", 1, None, "diverged"), learned], tune, cell("a", 1)) == 2


def test_a_value_is_chosen_by_the_steps_to_a_loss(tmp_path):
    links = []
    for value, losses in ((1, (3.0, 2.5)), (2, (2.5, 1.5)), (3, (2.9, 1.9))):
        folder = tmp_path / str(value)
        folder.mkdir()
        lines = [json.dumps({"step": 10 * n, "val/nll": x}) for n, x in enumerate(losses, 1)]
        (folder / "metrics.jsonl").write_text("\n".join(lines))
        links.append({**link("a", value, losses[-1]), "folder": str(folder)})
    assert choose(links, {**TUNE, "metric": "steps_to/nll_2.0"}, cell("a", 1)) == 2


def test_an_arm_without_any_result_ends_the_sweep():
    failed = {**link("a", 1, 1.0, "failed"), "error": "no space"}
    with pytest.raises(UserError, match="no space"):
        choose([failed], TUNE, cell("a", 1))

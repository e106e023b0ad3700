"""Ways to try until a claim holds, as a user types them: the second try is not free."""

import json
import shutil

import pytest

OWN = """
# @package _global_
defaults:
  - override /probe: dot_products
name: fished
budget: {seeds: 2}
probe: {rows: 40}
study:
  factors: [model.d_head]
  claims:
    - id: fished
      statement: Wide heads have a smaller gradient of the softmax.
      source: none
      kind: superiority
      metric: probe/trace
      margin: 0.05
      margin_reason: none
      treatment: {model.d_head: 8}
      baseline: {model.d_head: 4}
hydra: {sweeper: {params: {model.d_head: "4,8", seed: "range(${budget.seeds})"}}}
"""
PLAN = "budget.seeds=4"
SPENT = '"code": "alpha_spent"'


@pytest.fixture
def study(small, here, tmp_path):
    """Return the words of the sweep with these overrides."""
    place = tmp_path / "own" / "experiment"
    place.mkdir(parents=True)
    (place / "fished.yaml").write_text(OWN)

    def command_line(*overrides):
        place = f"--config-dir={tmp_path / 'own'}"
        return ["+experiment=fished", *small, *overrides, "-m", place]

    return command_line


@pytest.fixture
def swept(study, command, tmp_path):
    """Start the sweep with these overrides, and return its folder."""
    sweeps = tmp_path / "results" / "sweeps"

    def started(*overrides):
        earlier = {*sweeps.glob("*/*")}
        status, _, err = command(*study(*overrides))
        assert status == 0, err
        (folder,) = {*sweeps.glob("*/*")} - earlier
        return folder

    return started


def judged(sweep):
    return json.loads((sweep / "verdict.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        pytest.param(["seed=0,1"], ["seed=0,1,2"], SPENT, id="more seeds than planned"),
        pytest.param([], ["replicate=1", "name=renamed"], SPENT, id="a renamed study"),
        pytest.param(
            [],
            ["replicate=1", "optimizer.lr=0.02"],
            '["optimizer.lr", 0.005, 0.02]',
            id="another learning rate",
        ),
    ],
)
def test_another_try_is_exploratory_and_says_what_was_tried(swept, first, second, reason):
    assert not judged(swept(*first))["exploratory"]
    verdict = judged(swept(*second))
    assert verdict["exploratory"]
    assert reason in json.dumps(verdict)


@pytest.mark.slow
def test_some_of_the_seeds_have_no_verdict(swept):
    shutil.rmtree(swept())
    assert not (swept("seed=0") / "verdict.json").exists()


@pytest.mark.slow
def test_a_plain_sweep_before_the_study_is_noticed(swept):
    swept("study=null")
    verdict = judged(swept())
    assert verdict["exploratory"]
    assert verdict["older_runs"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["seed=1,1"])
def test_a_sweep_that_is_refused_is_no_earlier_try(study, command, tmp_path, refused):
    status, _, err = command(*study(refused))
    assert (status, "Traceback" in err) == (2, False), err
    assert not (tmp_path / "results" / "book.jsonl").exists()


@pytest.mark.slow
def test_a_look_within_the_plan_is_charged(swept):
    swept(PLAN, "seed=0,1")
    verdict = judged(swept(PLAN))
    assert not verdict["exploratory"]
    assert verdict["looks"] == 1


@pytest.mark.slow
def test_some_of_the_planned_seeds_have_no_verdict_after_all_of_them(swept):
    swept(PLAN)
    assert not (swept(PLAN, "seed=0,1") / "verdict.json").exists()


@pytest.mark.slow
def test_a_level_that_changed_under_its_name_is_told(swept, tmp_path):
    level = tmp_path / "own" / "model" / "norm" / "mine.yaml"
    level.parent.mkdir(parents=True)
    study = OWN.replace("[model.d_head]", "[model.d_head, model/norm]")
    study = study.replace("      treatment", "      where: {model/norm: mine}\n      treatment")
    study = study.replace("params: {", 'params: {model/norm: "mine,layer_norm", ')
    (tmp_path / "own" / "experiment" / "fished.yaml").write_text(study)
    option = "_target_: ablate.model.norm.LayerNorm\n_partial_: true\neps: "
    level.write_text(f"{option}1.0e-5\n")
    assert not judged(swept())["exploratory"]
    level.write_text(f"{option}1.0e-3\n")
    verdict = judged(swept())
    assert verdict["exploratory"]
    assert '["model.norm.eps in model/norm=mine", 1e-05, 0.001]' in json.dumps(verdict)

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
SPENT = "an analysis of the 2 planned seeds used up the whole significance level"


@pytest.fixture
def swept(small, command, here, tmp_path):
    """Start the sweep with these overrides, and return its folder."""
    place = tmp_path / "own" / "experiment"
    place.mkdir(parents=True)
    (place / "fished.yaml").write_text(OWN)
    sweeps = tmp_path / "results" / "sweeps"

    def started(*overrides):
        earlier = {*sweeps.glob("*/*")}
        place = f"--config-dir={tmp_path / 'own'}"
        status, _, err = command("+experiment=fished", *small, *overrides, "-m", place)
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
        pytest.param([], ["replicate=1"], SPENT, id="another replicate"),
        pytest.param([], ["replicate=1", "name=renamed"], SPENT, id="a renamed study"),
        pytest.param(
            [],
            ["replicate=1", "optimizer.lr=0.02"],
            "optimizer.lr was 0.005 and is 0.02",
            id="another learning rate",
        ),
        pytest.param(
            [],
            ["replicate=1", "study.claims.0.margin=0.1"],
            "margin was 0.05 and is 0.1",
            id="another margin",
        ),
    ],
)
def test_another_try_is_exploratory_and_says_what_was_tried(swept, first, second, reason):
    assert not judged(swept(*first))["exploratory"]
    verdict = judged(swept(*second))
    assert verdict["exploratory"]
    assert reason in json.dumps(verdict)


@pytest.mark.slow
def test_a_seed_stopped_by_hand_is_missed(swept):
    shutil.rmtree(swept())
    assert "1 seed that was begun or analysed earlier is missing" in json.dumps(
        judged(swept("seed=0"))
    )


@pytest.mark.slow
def test_a_look_within_the_plan_is_charged(swept):
    swept(PLAN, "seed=0,1")
    verdict = judged(swept(PLAN))
    assert not verdict["exploratory"]
    assert verdict["looks"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["0,1,2", "0,1"])
def test_seeds_that_are_dropped_come_back(swept, kept):
    swept(PLAN)
    (claim,) = judged(swept(PLAN, f"seed={kept}"))["claims"]
    assert claim["seeds"] == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_level_that_changed_under_its_name_is_told(swept, tmp_path):
    level = tmp_path / "own" / "model" / "norm" / "mine.yaml"
    level.parent.mkdir(parents=True)
    study = OWN.replace("[model.d_head]", "[model.d_head, model/norm]")
    study = study.replace("      treatment", "      where: {model/norm: mine}\n      treatment")
    study = study.replace("params: {", 'params: {model/norm: "mine,layer_norm", ')
    (tmp_path / "own" / "experiment" / "fished.yaml").write_text(study)
    option = "_target_: ablate.model.norm.layer_norm.LayerNorm\n_partial_: true\neps: "
    level.write_text(f"{option}1.0e-5\n")
    assert not judged(swept())["exploratory"]
    level.write_text(f"{option}1.0e-3\n")
    verdict = judged(swept())
    assert verdict["exploratory"]
    assert "model.norm.eps was 1e-05 and is 0.001 in model/norm=mine" in json.dumps(verdict)


@pytest.mark.slow
def test_a_setting_that_came_is_told(swept):
    assert not judged(swept())["exploratory"]
    verdict = judged(swept("replicate=1", "+optimizer.weight_decay=0.1"))
    assert verdict["exploratory"]
    assert "optimizer.weight_decay was not given and is 0.1" in json.dumps(verdict)

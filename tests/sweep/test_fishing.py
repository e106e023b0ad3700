"""Ways to try until a claim holds, as a user types them; tests/study has all of them."""

import json

import pytest

from .conftest import PROBED

PLAN = "budget.seeds=4"
pytestmark = pytest.mark.slow


@pytest.fixture
def fished(swept, tmp_path):
    """Run the sweep with these overrides, and return its folder."""
    return lambda *words, text=PROBED: swept(text, tmp_path / "results", *words)


def judged(sweep):
    return json.loads((sweep / "verdict.json").read_text())


def test_looks_within_the_plan_are_charged_and_other_tries_are_exploratory(fished):
    fished(PLAN, "seed=0,1")
    verdict = judged(fished(PLAN))
    assert not verdict["exploratory"]
    assert verdict["looks"] == 1
    assert not (fished(PLAN, "seed=0,1") / "verdict.json").exists()
    renamed = judged(fished(PLAN, "replicate=1", "name=renamed"))
    another_rate = judged(fished(PLAN, "replicate=2", "optimizer.lr=0.02"))
    assert renamed["exploratory"] and another_rate["exploratory"]
    assert '"code": "alpha_spent"' in json.dumps(renamed)
    assert '["optimizer.lr", 0.005, 0.02]' in json.dumps(another_rate)


def test_a_plain_sweep_before_the_study_is_noticed_and_a_refused_one_is_no_try(
    fished, written, command, tmp_path
):
    status, _, err = command(*written(PROBED, tmp_path / "results", "seed=1,1"), "-m")
    assert (status, "Traceback" in err) == (2, False), err
    assert not (tmp_path / "results" / "book.jsonl").exists()
    fished("study=null")
    verdict = judged(fished())
    assert verdict["exploratory"]
    assert verdict["older_runs"] == 4


def test_a_level_that_changed_under_its_name_is_told(fished, tmp_path):
    level = tmp_path / "own" / "model" / "norm" / "mine.yaml"
    level.parent.mkdir(parents=True)
    study = PROBED.replace("[model.d_head]", "[model.d_head, model/norm]")
    study = study.replace("      treatment", "      where: {model/norm: mine}\n      treatment")
    study = study.replace("params: {", 'params: {model/norm: "mine,layer_norm", ')
    option = "_target_: ablate.model.norm.LayerNorm\n_partial_: true\neps: "
    level.write_text(f"{option}1.0e-5\n")
    assert not judged(fished(text=study))["exploratory"]
    level.write_text(f"{option}1.0e-3\n")
    verdict = judged(fished(text=study))
    assert verdict["exploratory"]
    assert '["model.norm.eps in model/norm=mine", 1e-05, 0.001]' in json.dumps(verdict)

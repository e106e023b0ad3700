"""Ways to try until a claim holds, as a user types them: the second try is not free."""

import json
import shutil

import pytest

from .conftest import PROBED

PLAN = "budget.seeds=4"
SPENT = '"code": "alpha_spent"'


@pytest.fixture
def fished(swept, tmp_path):
    """Run the sweep with these overrides, and return its folder."""
    return lambda *words, text=PROBED: swept(text, tmp_path / "results", *words)


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
def test_another_try_is_exploratory_and_says_what_was_tried(fished, first, second, reason):
    assert not judged(fished(*first))["exploratory"]
    verdict = judged(fished(*second))
    assert verdict["exploratory"]
    assert reason in json.dumps(verdict)


@pytest.mark.slow
def test_some_of_the_seeds_have_no_verdict(fished):
    shutil.rmtree(fished())
    assert not (fished("seed=0") / "verdict.json").exists()


@pytest.mark.slow
def test_a_plain_sweep_before_the_study_is_noticed(fished):
    fished("study=null")
    verdict = judged(fished())
    assert verdict["exploratory"]
    assert verdict["older_runs"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["seed=1,1"])
def test_a_sweep_that_is_refused_is_no_earlier_try(written, command, tmp_path, refused):
    status, _, err = command(*written(PROBED, tmp_path / "results", refused), "-m")
    assert (status, "Traceback" in err) == (2, False), err
    assert not (tmp_path / "results" / "book.jsonl").exists()


@pytest.mark.slow
def test_a_look_within_the_plan_is_charged(fished):
    fished(PLAN, "seed=0,1")
    verdict = judged(fished(PLAN))
    assert not verdict["exploratory"]
    assert verdict["looks"] == 1


@pytest.mark.slow
def test_some_of_the_planned_seeds_have_no_verdict_after_all_of_them(fished):
    fished(PLAN)
    assert not (fished(PLAN, "seed=0,1") / "verdict.json").exists()


@pytest.mark.slow
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

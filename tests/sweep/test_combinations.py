"""A study of combinations from its file to the study of its prediction; nothing is trained."""

import json
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
STUDY = """
# @package _global_
defaults: [override /probe: dot_products]
name: mine
study:
  design: combinations
  recipes: 12
  repeated: 3
  levels:
    head: {wide: {model.d_head: 256}, narrow: {model.d_head: 4}}
    depth: {one: {model.n_layers: 1}, two: {model.n_layers: 2}}
  claims:
    - {id: narrow, statement: Narrow heads have a larger trace., source: a test, kind: superiority,
       metric: probe/trace, better: higher, margin: 0.05, margin_reason: none,
       treatment: {head: narrow}}
"""


@pytest.fixture
def folder_of_user(tmp_path):
    """The folder with the experiment of the user."""
    place = tmp_path / "user" / "experiment"
    place.mkdir(parents=True)
    (place / "mine.yaml").write_text(STUDY)
    return place


@pytest.fixture
def words(small, folder_of_user, tmp_path):
    """Return the words that run an experiment, with its results in a folder."""
    given = [word for word in small if not word.startswith("paths.results")]

    def command_line(experiment, results, *more):
        folders = [f"paths.results={tmp_path / results}", "paths.experiments=none"]
        return [
            f"+experiment={experiment}",
            *given,
            *folders,
            *more,
            f"--config-dir={folder_of_user.parent}",
        ]

    return command_line


def test_thirds_are_joined_judged_and_predict_the_best_recipe(
    command, words, folder_of_user, tmp_path, here
):
    folders = []
    for third in (1, 2, 3):
        status, out, err = command(*words("mine", f"r{third}", f"study.third={third}"), "-m")
        assert status == 0, err
        (folder,) = (tmp_path / f"r{third}" / "sweeps" / "mine").iterdir()
        assert 4 <= len((folder / "runs.jsonl").read_text().splitlines()) <= 6
        assert not (folder / "verdict.json").exists()
        folders.append(str(folder))
    joined = tmp_path / "joined"
    status, _, err = command("join", *folders, f"to={joined}")
    assert status == 0, err
    status, out, err = command("judge", joined)
    assert status == 0, err
    verdict = json.loads((joined / "verdict.json").read_text())
    assert (verdict["runs"], verdict["exploratory"]) == (15, False)
    assert verdict["claims"][0]["verdict"] == "supported"
    assert verdict["combined"]["best"]["levels"]["head"] == "narrow"
    assert "figures/combined.svg" in (joined / "report.md").read_text()

    target = folder_of_user / "mine_prediction.yaml"
    status, out, err = command("predict", joined, f"to={target}")
    assert status == 0 and "the best recipe: +" in out, err
    written = yaml.safe_load(target.read_text())
    gain = written["study"]["claims"][0]["predicted"]["gain"]
    assert gain == pytest.approx(verdict["combined"]["best"]["gain"], rel=1e-3)
    status, _, err = command(*words("mine_prediction", "r4"), "-m")
    assert status == 0, err
    (folder,) = (tmp_path / "r4" / "sweeps" / "mine_prediction").iterdir()
    answers = json.loads((folder / "verdict.json").read_text())["claims"]
    assert answers[0]["verdict"] == "supported"
    assert abs(answers[0]["effect"]) < gain / 10  # what remains beside the prediction
    assert {seed for claim in answers for seed in claim["seeds"]} == {15, 16, 17}
    assert Path(folder / "figures" / "effects.svg").exists()

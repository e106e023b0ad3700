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


def test_thirds_are_joined_judged_and_predict_the_best_recipe(command, swept, tmp_path):
    folders = []
    for third in (1, 2, 3):
        folder = swept(STUDY, tmp_path / f"r{third}", f"study.third={third}", "model.d_ff=64")
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

    target = tmp_path / "own" / "experiment" / "mine_prediction.yaml"
    status, out, err = command("predict", joined, f"to={target}")
    assert status == 0 and "the best recipe: +" in out, err
    assert "model.d_ff=64 -m" in out  # the prediction holds for the settings of the study
    written = yaml.safe_load(target.read_text())
    gain = written["study"]["claims"][0]["predicted"]["gain"]
    assert gain == pytest.approx(verdict["combined"]["best"]["gain"], rel=1e-3)
    folder = swept(target.read_text(), tmp_path / "r4")
    answers = json.loads((folder / "verdict.json").read_text())["claims"]
    assert answers[0]["verdict"] == "supported"
    assert abs(answers[0]["effect"]) < gain / 10  # what remains beside the prediction
    assert {seed for claim in answers for seed in claim["seeds"]} == {15, 16, 17}
    assert Path(folder / "figures" / "effects.svg").exists()

"""A screen: a list of variants beside one baseline, written out as a study."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from ablate.config.screen import _baseline_seeds
from ablate.sweep.runs import compose_sweep, plan_runs

SCREEN = """
# @package _global_
defaults: [override /probe: dot_products]
name: mine
budget: {seeds: 2}
probe: {rows: 40}
study:
  screen:
    metric: probe/trace
    better: higher
    margin: 0.05
    margin_reason: none
    variants:
      wide: {model.d_head: 8}
      wider: {model.d_head: 16}
      other_seeds: {replicate: 1}
    claims:
      wider: {id: wider, kind: non_inferiority, statement: Wider heads have no smaller trace.}
"""


def claims(folder):
    return json.loads((folder / "verdict.json").read_text())["claims"]


def test_one_baseline_serves_every_variant(written, tmp_path):
    *words, _ = written(SCREEN, tmp_path / "results")
    with compose_sweep(words, folder=str(tmp_path / "own")) as given:
        sweep = plan_runs(*given)
        arms = Counter(cell.levels["variant"] for cell in sweep.cells)
    assert arms == {"baseline": 2, "wide": 2, "wider": 2, "other_seeds": 2}
    asked = sweep.study["claims"]
    assert [(claim["id"], claim["kind"]) for claim in asked] == [
        ("mine_wide", "superiority"),
        ("wider", "non_inferiority"),
        ("mine_other_seeds", "superiority"),
    ]
    assert all(claim["baseline"] == {"variant": "baseline"} for claim in asked)
    assert sweep.study["factors"] == ["variant"]
    assert sweep.study["nuisance"] == ["model.d_head", "replicate"]


def test_variants_claim_the_direction_in_which_the_metric_is_better(written, tmp_path):
    text = SCREEN.replace("metric: probe/trace\n    better: higher", "metric: test/bleu")
    text = text.replace("dot_products", "none").replace("probe: {rows: 40}\n", "")
    *words, _ = written(text.replace("d_head", "d_ff"), tmp_path / "results")
    with compose_sweep(words, folder=str(tmp_path / "own")) as given:
        study = plan_runs(*given).study
    directions = [study["screen"]["better"], *(claim["better"] for claim in study["claims"])]
    assert directions == ["higher"] * 4


@pytest.mark.slow
def test_variants_in_parts_have_the_verdict_of_the_whole_screen(swept, command, tmp_path):
    def sweep(name, *words):
        return swept(SCREEN, tmp_path / name, *words)

    at_once = claims(sweep("whole"))
    assert all(len(claim["seeds"]) == 2 for claim in at_once)
    first = sweep("first", "variant=baseline,wide")
    assert not (first / "verdict.json").exists()
    assert command("judge", str(first))[0] == 2
    rest = sweep("rest", "variant=wider,other_seeds")
    assert command("join", str(first), str(rest), f"to={tmp_path / 'joined'}")[0] == 0
    assert command("judge", str(tmp_path / "joined"))[0] == 0
    registration = json.loads((tmp_path / "joined" / "study.json").read_text())["registration"]
    assert [asked["looks"] for asked in registration["asked"].values()] == [[], [], []]
    later = claims(tmp_path / "joined")
    for key in ("id", "verdict", "interval", "p_adjusted", "exploratory"):
        assert [claim[key] for claim in later] == [claim[key] for claim in at_once]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("wide: {model.d_head: 8}", "wide: {}", "wide"),
        ("wide: {model.d_head: 8}", "wide: {model.d_haed: 8}", "model.d_haed"),
        ("wider: {id: wider,", "wiedr: {id: wider,", "wiedr"),
    ],
)
def test_faults_are_named_before_any_run(written, command, tmp_path, here, old, new, named):
    status, _, err = command(*written(SCREEN.replace(old, new, 1), tmp_path / "bad"), "-m")
    assert status == 2 and named in err and "Traceback" not in err, err
    assert not (tmp_path / "bad" / "runs").exists()


def test_the_ten_lines_of_the_guide_are_a_screen(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "howto" / "screen.md").read_text()
    lines = guide.partition("```yaml\n")[2].partition("```")[0]
    assert lines.count("\n") == 10
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(lines)
    with compose_sweep(["+experiment=mine"], folder=str(tmp_path)) as sweep:
        jobs = [" ".join(job) for job in sweep.jobs]
    seeds = sweep.config.budget.seeds
    assert sum("variant=baseline" in job for job in jobs) == math.ceil(seeds * 3**0.5)
    assert len(jobs) == 3 * seeds + math.ceil(seeds * 3**0.5)
    assert {"model.bias=false", "variant=no_biases"} <= {w for job in jobs for w in job.split()}


@pytest.mark.parametrize(
    ("seeds", "planned", "expected"),
    [(10, None, 20), (10, 12, 12), (10, 10, None), (2, None, None)],
)
def test_the_baseline_has_more_seeds_by_the_number_of_variants(seeds, planned, expected):
    study = OmegaConf.create({"seeds": seeds, "baseline_seeds": planned})
    assert _baseline_seeds(study, 4) == expected

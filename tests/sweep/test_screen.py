"""A screen: a list of variants beside one baseline, written out as a study."""

import json
import math
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from ablate.config.screen import _baseline_seeds

pytestmark = pytest.mark.xdist_group("screen")
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


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with the results of all tests, each of which names the part that it needs."""
    return tmp_path_factory.mktemp("screens")


@pytest.fixture
def sweep(swept, results):
    """Run the screen; return the folder of its sweep."""
    return lambda name, *words: swept(SCREEN, results / name, *words)


@pytest.fixture
def whole(sweep, results):
    """The folder of the sweep of all arms, which the first test runs for all."""
    (*folders,) = (results / "whole" / "sweeps" / "mine").glob("*")
    return min(folders) if folders else sweep("whole")


def runs(folder):
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def claims(folder):
    return json.loads((folder / "verdict.json").read_text())["claims"]


def test_one_baseline_serves_every_variant(whole):
    arms = [run["arm"] for run in runs(whole)]
    assert {arm: arms.count(arm) for arm in arms} == {
        **{"baseline": 2, "wide": 2},
        **{"wider": 2, "other_seeds": 2},
    }
    judged = claims(whole)
    assert [(claim["id"], claim["kind"]) for claim in judged] == [
        ("mine_wide", "superiority"),
        ("wider", "non_inferiority"),
        ("mine_other_seeds", "superiority"),
    ]
    assert all(claim["baseline"] == {"variant": "baseline"} for claim in judged)
    assert all(len(claim["seeds"]) == 2 for claim in judged)
    study = json.loads((whole / "study.json").read_text())["study"]
    assert study["factors"] == ["variant"]
    assert study["nuisance"] == ["model.d_head", "replicate"]


def test_variants_in_parts_have_the_verdict_of_the_whole_screen(sweep, command, tmp_path, whole):
    first = sweep("first", "variant=baseline,wide")
    assert not (first / "verdict.json").exists()
    assert command("judge", str(first))[0] == 2
    rest = sweep("rest", "variant=wider,other_seeds")
    assert command("join", str(first), str(rest), f"to={tmp_path / 'joined'}")[0] == 0
    assert command("judge", str(tmp_path / "joined"))[0] == 0
    registration = json.loads((tmp_path / "joined" / "study.json").read_text())["registration"]
    assert [asked["looks"] for asked in registration["asked"].values()] == [[], [], []]
    later, at_once = claims(tmp_path / "joined"), claims(whole)
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
def test_faults_are_named_before_any_run(written, command, results, here, old, new, named):
    status, _, err = command(*written(SCREEN.replace(old, new, 1), results / "bad"), "-m")
    assert status == 2 and named in err and "Traceback" not in err, err
    assert not (results / "bad" / "runs").exists()


def test_the_ten_lines_of_the_guide_are_a_screen(tmp_path):
    from ablate.sweep.begin import composed

    guide = (Path(__file__).parents[2] / "docs" / "howto" / "screen.md").read_text()
    lines = guide.partition("```yaml\n")[2].partition("```")[0]
    assert lines.count("\n") == 10
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(lines)
    with composed(["+experiment=mine"], folder=str(tmp_path)) as sweep:
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

"""A screen: a list of variants beside one baseline, written out as a study."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("screen")
PROBED = """
# @package _global_
defaults: [override /probe: dot_products]
name: mine
budget: {seeds: 2}
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
def study(small, tmp_path, results):
    """Words of the screen with its results in a folder below that of the module."""
    place = tmp_path / "own" / "experiment"
    place.mkdir(parents=True)
    given = [word for word in small if not word.startswith("paths.results")]

    def command_line(name, *words, text=PROBED):
        (place / "mine.yaml").write_text(text)
        folders = [f"paths.results={results / name}", "paths.experiments=none"]
        return ["+experiment=mine", *given, *folders, *words, f"--config-dir={tmp_path / 'own'}"]

    return command_line


@pytest.fixture
def sweep(study, command, results, here):
    """Run the screen; return the folder of its sweep."""

    def ran(name, *words):
        status, _, err = command(*study(name, *words), "-m")
        assert status == 0, err
        return max((results / name / "sweeps" / "mine").iterdir())

    return ran


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


@pytest.mark.slow
def test_a_run_is_that_of_the_same_config_without_a_screen(sweep, whole, study, command, results):
    identities = {(run["arm"], run["seed"]): run["identity"] for run in runs(whole)}
    again = sweep("whole", "variant=wide,baseline", "part=true")
    assert all(run["reused"] for run in runs(again))
    alone = study("alone", "model.d_head=8", "seed=1", "study=null")
    status, _, err = command(*alone)
    assert status == 0, err
    (folder,) = (results / "alone" / "runs").iterdir()
    assert folder.name == identities["wide", 1]


def test_a_variant_is_judged_before_the_others_have_runs(sweep, command, tmp_path, whole):
    first = sweep("first", "variant=baseline,wide", "part=true")
    status, printed, err = command("join", str(first), f"to={tmp_path / 'joined'}")
    assert status == 0, err
    assert "2 of 3 claims lack the runs of an arm" in printed
    assert command("judge", str(tmp_path / "joined"))[0] == 0
    (claim,) = claims(tmp_path / "joined")
    assert claim["id"] == "mine_wide"
    alone, together = claim["p_look"], claim["p_adjusted"]
    assert together == {side: min(1.0, 3 * p) for side, p in alone.items()}
    assert (claim["effect"], alone) == (claims(whole)[0]["effect"], claims(whole)[0]["p_look"])
    caveats = json.loads((tmp_path / "joined" / "verdict.json").read_text())["caveats"]
    values = {caveat["code"]: caveat["values"] for caveat in caveats}
    assert values["claims_wait"] == {"planned": 3, "waiting": 2}
    assert values["holm"] == {"claims": 3}


def test_a_later_variant_has_the_verdict_of_the_whole_screen(sweep, command, tmp_path, whole):
    first = sweep("first", "variant=baseline,wide", "part=true")
    assert command("join", str(first), f"to={tmp_path / 'judged'}")[0] == 0
    rest = sweep("rest", "variant=wider,other_seeds", "part=true")
    pieces = [str(tmp_path / "judged"), str(rest)]
    status, _, err = command("join", *pieces, f"to={tmp_path / 'joined'}")
    assert status == 0, err
    assert command("judge", str(tmp_path / "joined"))[0] == 0
    registration = json.loads((tmp_path / "joined" / "study.json").read_text())["registration"]
    assert [asked["looks"] for asked in registration["asked"].values()] == [[[0, 1]], [], []]
    log = (tmp_path / "joined" / "book.jsonl").read_text().splitlines()
    assert [json.loads(line)["what"] for line in log] == ["sweep"]  # both parts have these seeds
    later, at_once = claims(tmp_path / "joined"), claims(whole)
    for key in ("id", "verdict", "interval", "p_adjusted", "exploratory"):
        assert [claim[key] for claim in later] == [claim[key] for claim in at_once]


def test_parts_of_one_machine_can_be_joined_one_after_the_other(sweep, command, tmp_path):
    arms = ("variant=baseline,wide", "part=true")
    first, second = (sweep("machine", *arms, f"seed={seed}") for seed in (0, 1))
    for pieces, target in (((second,), "one"), ((tmp_path / "one", first), "both")):
        status, _, err = command("join", *map(str, pieces), f"to={tmp_path / target}")
        assert status == 0, err
    assert command("judge", str(tmp_path / "both"))[0] == 0
    assert [claim["exploratory"] for claim in claims(tmp_path / "both")] == [False]


@pytest.mark.slow  # tests/study/test_looks.py asks the same of made-up runs
def test_variants_without_their_baseline_have_no_verdict(sweep, command, tmp_path):
    part = sweep("variants", "variant=wide,wider", "part=true")
    status, printed, err = command("join", str(part), f"to={tmp_path / 'joined'}")
    assert status == 0, err
    assert "repeat the command of the study with part=true" in printed
    status, _, err = command("judge", str(tmp_path / "joined"))
    assert status == 2 and "part of a study" in err


@pytest.mark.slow
def test_pieces_of_some_arms_come_to_a_verdict_together(sweep, command, tmp_path):
    first = sweep("first", "variant=baseline,wide", "part=true", "budget.seeds=1")
    assert {run["arm"] for run in runs(first)} == {"baseline", "wide"}
    rest = sweep("rest", f"without_runs={first}", "budget.seeds=1")
    assert {run["arm"] for run in runs(rest)} == {"wider", "other_seeds"}
    status, _, err = command("judge", first)
    assert status == 2 and "part of a study" in err
    assert command("join", str(first), str(rest), f"to={tmp_path / 'joined'}")[0] == 0
    assert command("judge", str(tmp_path / "joined"))[0] == 0
    assert [claim["pairs"] for claim in claims(tmp_path / "joined")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("old", "new", "words", "message"),
    [
        ("wide: {model.d_head: 8}", "baseline: {model.d_head: 8}", [], "choose another"),
        ("wide: {model.d_head: 8}", "wide: {}", [], "changes nothing"),
        (
            "wide: {model.d_head: 8}",
            "so wide: {model.d_head: 8}",
            [],
            "the name 'so wide' cannot be",
        ),
        ("", "", ["seed=range(5,5)"], "seed=range(5,5) has no values"),
        ("wide: {model.d_head: 8}", "wide: {variant: wider}", [], "sets variant"),
        ("wide: {model.d_head: 8}", "wide: {model.d_haed: 8}", [], "model.d_haed"),
        ("wider: {id: wider,", "wiedr: {id: wider,", [], "did you mean wider"),
        ("wider: {id: wider,", "wider: {idd: wider,", [], "idd"),
        (
            *("wider: {id: wider,", "wider: {treatment: {variant: baseline}, id: wider,", []),
            "wider: remove the key treatment",
        ),
        pytest.param(
            *("metric: probe/trace", "metric: probe/tracee", [], "probe/tracee"),
            marks=pytest.mark.slow,
        ),
        ("    metric: probe/trace\n", "", [], "metric"),
        ("", "", ["variant=wiedr"], "did you mean wider"),
        ("", "", ["study.screen=null"], "study.claims"),
    ],
)
def test_faults_are_named_before_any_run(study, command, results, here, old, new, words, message):
    status, _, err = command(*study("bad", *words, text=PROBED.replace(old, new, 1)), "-m")
    assert status == 2 and message in err and "Traceback" not in err, err
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
    assert len(jobs) == 4 * sweep.config.budget.seeds
    assert {"model.bias=false", "variant=no_biases"} <= {w for job in jobs for w in job.split()}


def test_a_variant_can_add_a_key(tmp_path):
    from ablate.sweep.begin import composed

    (tmp_path / "experiment").mkdir()
    added = PROBED.replace("{model.d_head: 8}", "{+optimizer.weight_decay: 0.1}")
    (tmp_path / "experiment" / "mine.yaml").write_text(added)
    with composed(["+experiment=mine"], folder=str(tmp_path)) as sweep:
        assert "optimizer.weight_decay" in sweep.config.study.nuisance
        assert "+optimizer.weight_decay=0.1" in [word for job in sweep.jobs for word in job]


def test_a_variant_is_a_word_of_sweeps_of_screens_alone(study, command):
    for words in (["variant=wide"], ["study=null", "variant=wide"]):
        status, _, err = command(*study("one", *words))
        assert status == 2 and "variant=wide" in err, err

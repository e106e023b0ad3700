"""A study that is made in parts, in folders that share nothing, and joined."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hydra.types import HydraContext

from ablate.errors import UserError
from ablate.evidence.analysis_log import AnalysisLog, Sweep
from ablate.evidence.folder import Evidence
from ablate.evidence.join import Piece, _check_code

NO_CONTEXT = HydraContext(config_loader=Mock(), callbacks=Mock())
pytestmark = pytest.mark.xdist_group("parts")
PROBED = """
# @package _global_
defaults:
  - override /probe: dot_products
name: probed
budget: {seeds: 3}
study:
  factors: [model.d_head]
  claims:
    - id: probed
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
SHORT = ("budget.short=2", "study.looks=null", "budget.seeds=3")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder for the sweeps that several tests need, and the sweeps that are in it."""
    return tmp_path_factory.mktemp("parts"), {}


@pytest.fixture
def study(small, tmp_path):
    """Words of the study with its results in a folder below that of the test."""
    place = tmp_path / "own" / "experiment"
    place.mkdir(parents=True)
    (place / "probed.yaml").write_text(PROBED)
    given = [word for word in small if not word.startswith("paths.results")]

    def command_line(folder, *words, experiment="probed"):
        trained = () if experiment == "probed" else SHORT
        folders = [f"paths.results={tmp_path / folder}", "paths.experiments=none"]
        overrides = [f"+experiment={experiment}", *given, *trained, *folders, *words]
        return [*overrides, "-m", f"--config-dir={tmp_path / 'own'}"]

    return command_line


@pytest.fixture
def sweep(study, command, tmp_path, here):
    """Run the study with its results in a folder below that of the test; return its sweep."""

    def ran(results, *words, experiment="probed"):
        folder = tmp_path / results
        status, out, err = command(*study(results, *words, experiment=experiment))
        assert status == 0, err
        assert ("ablate join" in out) == ("part=true" in words or "without_runs" in str(words))
        return max((folder / "sweeps" / experiment).iterdir())

    return ran


@pytest.fixture
def part(sweep, shared):
    """Run one seed of the study in a folder of its own; later tests get the same sweep."""
    folder, parts = shared

    def ran(seed):
        if seed not in parts:
            parts[seed] = sweep(folder / f"part {seed}", "part=true", f"seed={seed}")
        return parts[seed]

    return ran


@pytest.fixture
def joined(command, tmp_path):
    """Join pieces; return the folder, or what refuses them."""

    def join(*pieces, to="joined"):
        status, out, err = command("join", *map(str, pieces), f"to={tmp_path / to}")
        assert (status, "Traceback" in err) in ((0, False), (2, False))
        if status:
            assert not (tmp_path / to).exists()
            assert err.count("\n") == 1, err
            return err
        return tmp_path / to

    return join


@pytest.fixture
def judged(command):
    def judge(folder):
        status, _, err = command("judge", folder)
        assert status == 0, err
        return json.loads((folder / "verdict.json").read_text())

    return judge


def numbers(verdict):
    """What a verdict says of the size and the certainty of each claim."""
    fields = ("verdict", "effect", "interval", "p", "seeds", "differences", "detectable")
    return [
        {key: result[key] for key in fields}
        for claim in verdict["claims"]
        for result in (claim, claim.get("short"))
        if result
    ]


def lines(folder, name="runs.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


@pytest.mark.slow
def test_three_parts_come_to_the_verdict_of_the_study_made_in_one_go(
    sweep, part, joined, judged, command, study, tmp_path
):
    whole = json.loads((sweep("whole") / "verdict.json").read_text())
    first, second = part(0), part(1)
    assert not [*first.glob("verdict.json"), *first.glob("report.*")]
    status, _, err = command("judge", first)
    assert status == 2 and "1 of 3 planned seeds" in err
    two = joined(first, second, to="two")
    status, _, err = command("judge", two)
    assert status == 2 and "2 of 3 planned seeds" in err
    planned = command("plan", *study("plan", f"without_runs={two}"))
    assert "2 runs of 2 arms and 1 seed" in planned[1], planned
    assert "A part of a study has no verdict" in planned[1] and "power" not in planned[1]
    third = sweep("part 2", f"without_runs={two}")
    assert [run["seed"] for run in lines(third)] == [2, 2]
    verdict = judged(joined(two, third, to="three"))
    assert numbers(verdict) == numbers(whole)
    assert (verdict["exploratory"], verdict["looks"], verdict["alpha_spent"]) == (False, 0, 0.05)
    registered = json.loads((tmp_path / "three" / "study.json").read_text())["registration"][
        "command"
    ]
    assert (
        "without_runs" not in registered and "part=" not in registered and "seed=" not in registered
    )
    assert numbers(judged(joined(third, second, first, to="again"))) == numbers(whole)


def test_the_plan_of_a_part_says_nothing_about_verdicts(command, study, here):
    _, out, _ = command("plan", *study("plan", "part=true", "seed=0,1"))
    assert "4 runs of 2 arms and 2 seeds" in out
    assert "a single seed" not in out


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ("model.d_head=4", "has only model.d_head=4, but the study has model.d_head=4,8. "),
        ("model.d_head=4,16", "study.claims, probed: no run has model.d_head=8. "),
    ],
)
@pytest.mark.parametrize("start", [(), ("plan",)])
def test_a_part_with_some_of_the_arms_is_refused_before_any_run(
    command, study, tmp_path, here, start, arms, message
):
    """Its registration has other arms, so `ablate join` would refuse it after its training."""
    status, _, err = command(*start, *study("part", "part=true", "seed=0,1", arms))
    assert status == 2
    assert f"{message}`ablate join` joins only parts with the same arms. Divide" in err
    assert "some of the seeds, as in seed=0,1." in err
    assert not [*(tmp_path / "part").glob("runs/*")]


def test_an_arm_that_no_part_has_is_left_out_by_without(command, study, here):
    other = ("model.d_head=4,8,16", "without=[{model.d_head:16}]")
    status, out, err = command("plan", *study("plan", "part=true", "seed=0", *other))
    assert status == 0, err
    assert "2 runs of 2 arms and 1 seed" in out


@pytest.mark.slow
def test_what_does_not_belong_together_is_refused_and_nothing_is_written(
    part, joined, command, tmp_path
):
    first, second = part(0), part(1)
    assert "overlap in 2 runs, such as" in joined(first, second, first)
    assert f"{tmp_path} has no runs.jsonl" in joined(first, tmp_path)
    assert f"there is no folder {tmp_path / 'nowhere'}" in joined(first, tmp_path / "nowhere")
    damaged = shutil.copytree(second, tmp_path / "damaged")
    text = (damaged / "runs.jsonl").read_text()
    (damaged / "runs.jsonl").write_text(text.replace('"seed":1', '"seed":2', 1))
    assert "has changed since" in joined(first, damaged)
    for change in ({"code": "0" * 16}, {"code": ""}):
        other = resealed(second, tmp_path / f"other {len(str(change))}", change)
        words = "different code" if change["code"] else "does not record the code"
        assert words in joined(first, other)
    assert "already has evidence" in refused(command, first, f"to={second}")
    assert "to= is missing" in refused(command, first)


def piece(arms, screening=(), code="source"):
    """A piece whose runs have these arms and digests of their code."""
    runs, tuning = (
        [
            {
                "arm": arm,
                "levels": {},
                "seed": seed,
                "status": "done",
                "versions": {},
                "code": of_arm,
            }
            for seed, (arm, of_arm) in enumerate(given)
        ]
        for given in (arms, screening)
    )
    evidence = Evidence("x", {}, {}, {}, runs, tuning, {}, {})
    sweep = Sweep("x", 0.0, "x", "x", {}, {}, 0, [], {}, code=code)
    return Piece(Path("x"), evidence, AnalysisLog([], []), sweep)


@pytest.mark.parametrize(
    ("first", "second", "accepted"),
    [
        (piece([("a", "1"), ("b", "2")]), piece([("a", "1"), ("b", "2")]), True),
        (piece([("a", "1"), ("b", "2")]), piece([("a", "1"), ("b", "3")]), False),
        (piece([("a", "1")]), piece([("a", "1"), ("b", "2"), ("b", "3")]), False),
        (piece([("a", "1")], [("a", "4")]), piece([("a", "1")], [("a", "5")]), False),
        (piece([("a", "1")]), piece([("b", "2")]), True),
        (piece([("a", "1")]), piece([("b", "2")], code="another source"), False),
        (piece([("a", "1")], code=""), piece([("b", "2")], code=""), False),
        (piece([("a", "1")]), piece([("a", "")]), False),
    ],
)
def test_parts_of_different_code_are_not_joined(first, second, accepted):
    with nullcontext() if accepted else pytest.raises(UserError):
        _check_code(first, second)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("study.claims.0.margin=1.0", "another study than"),
        pytest.param(
            "replicate=1", "has replicate=0 contest=False: join only", marks=pytest.mark.slow
        ),
        *(
            pytest.param(word, "another study than", marks=pytest.mark.slow)
            for word in ("optimizer.lr=0.001", "model.d_head=4,8,16", "threads=2")
        ),
    ],
)
def test_a_piece_of_another_study_is_refused(sweep, part, joined, word, message):
    other = sweep("other", "part=true", "seed=1", word)
    assert message in joined(part(0), other)


def refused(command, *words):
    status, _, err = command("join", *map(str, words))
    assert status == 2
    return err


def resealed(source, target, change):
    """A copy of a piece whose runs are changed, with a new seal."""
    from dataclasses import replace

    from ablate.evidence.folder import Evidence

    shutil.copytree(source, target)
    evidence = Evidence.load(target)
    replace(evidence, runs=[{**run, **change} for run in evidence.runs]).save(target)
    return target


@pytest.mark.slow
def test_a_piece_that_had_a_verdict_was_a_look_and_no_seed_may_be_left_out(sweep, joined, judged):
    first = sweep("first", "seed=0")  # with a verdict
    rest = sweep("rest", "part=true", "seed=1,2")
    verdict = judged(joined(first, rest, to="looked"))
    assert (verdict["looks"], verdict["exploratory"]) == (1, False)
    other = sweep("rest", "part=true", "seed=3,4")  # where 1 and 2 were begun
    verdict = judged(joined(first, other, to="chosen"))
    assert verdict["exploratory"]
    assert "2 seeds that were begun or analysed earlier are missing" in json.dumps(
        verdict["caveats"]
    )
    assert "5 seeds together, but the study plans 3" in joined(first, rest, other)


@pytest.mark.slow
def test_a_join_for_an_interim_analysis_says_which_folder_records_it(sweep, command, tmp_path):
    planned = ("part=true", "budget.seeds=10", "study.looks=2")
    first = sweep("first", *planned, "seed=range(5)")
    two = tmp_path / "two"
    status, out, err = command("join", str(first), f"to={two}")
    assert status == 0, err
    assert f"join {two} with the new parts. Do not join the parts again that it contains" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["without_runs=3"], "it must be a folder"),
        (["without_runs=nowhere"], "there is no folder nowhere"),
        (["without_runs=PIECE", "optimizer.lr=0.001"], "another study"),
        (["without_runs=PIECE", "seed=0"], "there is nothing to do"),
    ],
)
def test_runs_are_left_out_only_of_the_same_study(part, command, study, here, words, message):
    given = [word.replace("PIECE", str(part(0))) for word in words]
    for start in ((), ("plan",)):
        status, _, err = command(*start, *study("other", *given))
        assert status == 2
        assert message in err


@pytest.mark.parametrize("word", ["replicate=1", "contest=true"])
def test_runs_are_left_out_only_of_the_same_replicate(compose, monkeypatch, tmp_path, word):
    """The registration of a study has no replicate, because seeds do not change its claims."""
    from ablate.sweep import runs
    from ablate.sweep.planned import PlannedSweep

    sweep = SimpleNamespace(replicate=0, contest=False)
    piece = SimpleNamespace(hash="study", sweep=sweep, runs={})
    monkeypatch.setattr(runs, "describe", lambda *given: (None, {}))
    monkeypatch.setattr(runs, "regime", lambda config: {})
    monkeypatch.setattr(runs, "registration_hash", lambda registered: "study")
    monkeypatch.setattr(runs.Piece, "read", lambda folder: piece)
    config = compose(f"without_runs={tmp_path}", word)
    with pytest.raises(UserError, match=f"replicate=0 contest=false, but this sweep.* {word}"):
        runs.without_made(PlannedSweep(NO_CONTEXT, config, {}, [], [], [], {}))
    config = compose(f"without_runs={tmp_path}")
    assert runs.without_made(PlannedSweep(NO_CONTEXT, config, {}, [], [], [], {})) == []


@pytest.mark.slow
def test_trained_parts_have_the_intervals_of_the_study_made_in_one_go(sweep, joined, judged):
    trained = {"experiment": "relu_vs_linear"}
    whole = sweep("whole", **trained)
    parts = [sweep(f"part {seed}", "part=true", f"seed={seed}", **trained) for seed in range(3)]
    folder = joined(*parts)
    assert numbers(judged(folder)) == numbers(json.loads((whole / "verdict.json").read_text()))
    for name in ("statistics.npz", "registered.json"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow
def test_a_tuned_study_tunes_in_parts_as_in_one_go(sweep, joined, judged):
    tuned = ("study.tune.values=[0.001,0.01]", "study.tune.seeds=[9]")
    experiment = {"experiment": "norms_trained"}
    whole = sweep("whole", *tuned, **experiment)
    pieces = [
        sweep(f"part {seed}", "part=true", f"seed={seed}", *tuned, **experiment)
        for seed in (2, 0, 1)
    ]
    folder = joined(*pieces)

    def chosen(folder, name):
        return {
            (run["arm"], run["seed"], run["tuned"]["value"], run["identity"])
            for run in lines(folder, name)
        }

    for name in ("runs.jsonl", "screening.jsonl"):
        assert chosen(folder, name) == chosen(whole, name)
    assert numbers(judged(folder)) == numbers(json.loads((whole / "verdict.json").read_text()))

"""Runs that stand in committed evidence are not trained again, and say the same."""

import json
import re

import pytest

SHORT = ("paths.experiments=experiments", "budget.short=2", "study.looks=null", "budget.seeds=1")


@pytest.fixture
def sweep(small, command, tmp_path, monkeypatch, here):
    """Run the study with results and evidence in folders of the test; return the sweep's folder."""
    monkeypatch.chdir(tmp_path)

    def ran(results, *arguments, name="relu_vs_linear"):
        status, _, err = command(*settings(small, results, name), *arguments, "-m")
        assert status == 0, err
        return max((tmp_path / results / "sweeps" / name).iterdir())

    return ran


def settings(small, results, name="relu_vs_linear"):
    given = [one for one in small if not one.startswith("paths.results")]
    return [*given, f"paths.results={results}", *SHORT, f"+experiment={name}"]


@pytest.fixture
def commit(sweep, command):
    """Run the study in one checkout and commit what it found; return its folder."""

    def made(*arguments, name="relu_vs_linear"):
        folder = sweep("first", *arguments, name=name)
        status, _, err = command("judge", str(folder), f"to=experiments/{name}")
        assert status == 0, err
        return folder

    return made


def runs(folder, name="runs.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def said(run):
    """A run without what is told of this sweep alone."""
    short = {key: value for key, value in run["short"].items() if key != "reused"}
    command = re.sub(r"paths\.results=\S+ ?", "", run["command"])
    return {**run, "reused": None, "short": short, "command": command}


def test_another_checkout_has_the_same_verdict_and_trains_only_what_is_not_committed(
    sweep, commit, command, small
):
    first = commit()
    status, out, err = command("plan", *settings(small, "second"), "-m")
    assert status == 0, err
    assert "2 are done" in out
    second = sweep("second")
    assert [run["reused"] and run["short"]["reused"] for run in runs(second)] == [True] * 2
    assert [*map(said, runs(second))] == [*map(said, runs(first))]
    assert (first / "statistics.npz").read_bytes() == (second / "statistics.npz").read_bytes()
    verdicts = [json.loads((one / "verdict.json").read_text()) for one in (first, second)]
    assert verdicts[0]["claims"] == verdicts[1]["claims"]
    third = sweep("third", "seed=0,2")
    assert [(run["seed"], run["reused"]) for run in runs(third)] == [(0, True), (2, False)] * 2


@pytest.mark.slow
def test_what_chose_a_rate_is_not_trained_again_either(sweep, commit):
    tuned = ("study.tune.values=[0.001,0.01]", "study.tune.seeds=[9]")
    first = commit(*tuned, name="norms_trained")
    second = sweep("second", *tuned, name="norms_trained")
    for name in ("runs.jsonl", "screening.jsonl"):
        found = runs(second, name)
        assert {run["reused"] for run in found} == {True}
        assert [run["metrics"] for run in found] == [run["metrics"] for run in runs(first, name)]


def test_damaged_evidence_is_named_and_counts_for_nothing(commit, compose, tmp_path, capsys):
    from ablate.sweep.committed import Committed

    commit()
    path = tmp_path / "experiments" / "relu_vs_linear" / "runs.jsonl"
    config = compose("name=relu_vs_linear", f"paths.experiments={path.parents[1]}")
    assert len(Committed.of(config).runs) == 4  # two runs at two budgets
    config.fresh = True
    assert not Committed.of(config).runs
    config.fresh = False
    path.write_text(path.read_text().replace('"seed":0', '"seed":1', 1))
    assert not Committed.of(config).runs
    told = capsys.readouterr().out
    assert "is not as it was sealed" in told
    assert "none of its runs count as done" in told


def test_with_fresh_all_are_trained(sweep, commit):
    commit()
    assert {run["reused"] for run in runs(sweep("second", "fresh=true"))} == {False}

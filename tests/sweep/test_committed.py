"""Committed evidence is a record: a sweep of its experiment trains every run itself."""

import json

import pytest

RESULT = "experiments/relu_vs_linear/report.md"
SHORT = ("budget.short=2", "study.looks=null", "paths.experiments=experiments")


@pytest.fixture
def arguments(small, tmp_path, monkeypatch, here):
    """Overrides of the study with results in a folder below that of the test."""
    monkeypatch.chdir(tmp_path)
    given = [word for word in small if not word.startswith("paths.results")]
    return lambda results, *words: [
        *(*given, f"paths.results={results}", *SHORT),
        *(*words, "+experiment=relu_vs_linear"),
    ]


@pytest.fixture
def sweep(arguments, command, tmp_path):
    """Run the study; return the folder of its sweep."""

    def ran(results, *words):
        status, _, err = command(*arguments(results, *words), "-m")
        assert status == 0, err
        assert (RESULT in err) == (tmp_path / RESULT).exists()
        return max((tmp_path / results / "sweeps" / "relu_vs_linear").iterdir())

    return ran


@pytest.fixture
def committed(sweep, command):
    """Run two seeds of the study and commit what they showed."""
    folder = sweep("first", "budget.seeds=2")
    status, _, err = command("judge", str(folder), "to=experiments/relu_vs_linear")
    assert status == 0, err


@pytest.mark.parametrize(
    ("words", "seeds"),
    [
        pytest.param(["budget.seeds=2"], [0, 1], id="the same command"),
        pytest.param(["budget.seeds=1"], [0], id="fewer seeds"),
        pytest.param(["budget.seeds=2", "seed=1,2"], [1, 2], id="other seeds"),
        pytest.param(["budget.seeds=2", "optimizer.lr=0.01"], [0, 1], id="another rate"),
    ],
)
@pytest.mark.usefixtures("committed")
def test_no_committed_run_is_reused_pooled_or_counted(sweep, arguments, command, words, seeds):
    status, out, err = command("plan", *arguments("second", *words), "-m")
    assert status == 0, err
    assert "0 are done" in out
    folder = sweep("second", *words)
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert not any(run["reused"] or run["short"]["reused"] for run in runs)
    verdict = json.loads((folder / "verdict.json").read_text())
    assert (verdict["exploratory"], verdict["looks"], verdict["alpha_spent"]) == (False, 0, 0.05)
    for claim in verdict["claims"]:
        assert {*claim["seeds"]} <= {*seeds}
        assert not claim["exploratory"]
    assert len({run.get("commit") for run in runs}) == 1
    assert len({run["code"] for run in runs}) == 1  # all arms and seeds execute the same modules
    about = json.loads((folder / "study.json").read_text())
    for asked in about["registration"]["asked"].values():
        assert asked == {"looks": [], "tried": [], "regimes": 0}

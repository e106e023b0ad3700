"""Committed evidence is a record: a sweep of its experiment trains every run itself."""

import json
import shutil

import pytest

RESULT = "experiments/relu_vs_linear/report.md"
pytestmark = pytest.mark.xdist_group("committed")
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


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """The folder where the first test keeps the committed evidence for the others."""
    return tmp_path_factory.mktemp("committed") / "experiments"


@pytest.fixture
def committed(sweep, command, evidence, tmp_path):
    """Run two seeds of the study and commit what they showed; later tests get a copy."""
    if not evidence.exists():
        folder = sweep("first", "budget.seeds=2")
        status, _, err = command("judge", str(folder), "to=experiments/relu_vs_linear")
        assert status == 0, err
        shutil.copytree(tmp_path / "experiments", evidence)
    shutil.copytree(evidence, tmp_path / "experiments", dirs_exist_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize(("words", "seeds"), [(["budget.seeds=2"], [0, 1])])
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

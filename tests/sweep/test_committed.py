"""Committed evidence is a record: a sweep of its experiment trains every run itself."""

import json

import pytest

RESULT = "experiments/relu_vs_linear/report.md"


@pytest.mark.slow
def test_no_committed_run_is_reused_pooled_or_counted(small, command, tmp_path, monkeypatch, here):
    monkeypatch.chdir(tmp_path)
    study = ["+experiment=relu_vs_linear", "budget.short=2", "study.looks=null", "budget.seeds=2"]
    given = [word for word in small if not word.startswith("paths.results")]

    def called(results, *words):
        places = [f"paths.results={results}", "paths.experiments=experiments"]
        status, out, error = command(*filter(None, words[:1]), *given, *study, *places, *words[1:])
        assert status == 0, error
        assert words[:1] == ("plan",) or (RESULT in error) == (tmp_path / RESULT).exists()
        return out

    def swept(results):
        called(results, "", "-m")
        (folder,) = (tmp_path / results / "sweeps" / "relu_vs_linear").iterdir()
        return folder

    status, _, error = command("judge", swept("first"), "to=experiments/relu_vs_linear")
    assert status == 0, error
    assert "0 are done" in called("second", "plan", "-m")
    folder = swept("second")
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert not any(run["reused"] or run["short"]["reused"] for run in runs)
    verdict = json.loads((folder / "verdict.json").read_text())
    assert (verdict["exploratory"], verdict["looks"], verdict["alpha_spent"]) == (False, 0, 0.05)
    for claim in verdict["claims"]:
        assert {*claim["seeds"]} <= {0, 1}
        assert not claim["exploratory"]
    assert len({run.get("commit") for run in runs}) == 1
    assert len({run["code"] for run in runs}) == 1  # all arms and seeds execute the same modules
    about = json.loads((folder / "study.json").read_text())
    for asked in about["registration"]["asked"].values():
        assert asked == {"looks": [], "tried": [], "regimes": 0}

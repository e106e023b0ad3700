"""python -m ablate.report: what it prints, where it writes, and what it refuses."""

import json
import sys

import numpy as np
import pytest

from ablate.report.__main__ import main, seal


@pytest.fixture
def command(monkeypatch, capsys):
    """Call the command line; return exit status, standard output, standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["report", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def folder(evidence, tmp_path):
    made = evidence("tuned")
    made.statistics["pre_ln-0"] = {"test_long": np.ones((3, 10), dtype=np.int64)}
    made.save(tmp_path / "made")
    return tmp_path / "made"


def test_verdicts_are_printed_and_the_report_lies_in_the_folder(command, folder):
    status, out, err = command(folder)
    assert (status, err) == (0, "")
    assert out.splitlines()[0].endswith("  Pre-LN reaches a higher BLEU than Post-LN.")
    assert "over 5 seeds, margin 1" in out.splitlines()[1]
    assert out.splitlines()[-1] == f"report: {folder / 'report.md'}, {folder / 'report.html'}"
    assert {p.name for p in folder.iterdir()} > {"verdict.json", "report.md", "report.html"}


def test_report_in_another_folder_comes_with_its_evidence(command, folder, tmp_path):
    before = sorted(folder.iterdir())
    other = tmp_path / "deep" / "other"
    assert command(folder, f"to={other}")[0] == 0
    assert sorted(folder.iterdir()) == before
    for path in before:
        assert (other / path.name).read_bytes() == path.read_bytes()
    assert (other / "report.md").exists()
    report = (other / "report.md").read_bytes()
    assert command(other, f"to={other}")[0] == 0
    assert (other / "report.md").read_bytes() == report


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "0 folders are given; it takes one"),
        (("a", "b"), "2 folders are given; it takes one"),
        (("a", "form=b"), "form= is not known; allowed is FOLDER, to=OTHER and seal=true"),
        (("a", "to="), "to= has no value"),
        (("nowhere",), "nowhere/study.json is missing: this is not the folder of a study"),
    ],
)
def test_mistakes_are_one_sentence(command, monkeypatch, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("ablate.report: ")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["study.json", "runs.jsonl", "statistics.npz"])
@pytest.mark.parametrize("content", [None, b"{ half of"])
def test_missing_and_damaged_files_are_named(command, folder, name, content):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    status, out, err = command(folder)
    assert (status, out) == (2, "")
    assert name in err
    assert err.count("\n") == 1


def test_study_without_claims_has_nothing_to_judge(command, evidence, tmp_path):
    evidence(claims=[]).save(tmp_path)
    status, _, err = command(tmp_path)
    assert status == 2
    assert "study.claims=[]: allowed is at least one claim" in err


def test_evidence_that_is_older_than_seals_can_be_sealed(command, folder):
    path = folder / "study.json"
    sealed = path.read_bytes()
    path.write_text(json.dumps({k: v for k, v in json.loads(sealed).items() if k != "seal"}))
    (folder / "registered.json").unlink()
    status, _, err = command(folder)
    assert status == 2
    assert f"python -m ablate.report {folder} seal=true" in err
    seal(folder)
    assert path.read_bytes() == sealed
    assert (folder / "registered.json").exists()
    (folder / "runs.jsonl").write_text((folder / "runs.jsonl").read_text().replace("pre", "pro"))
    seal(folder)  # what is sealed is not sealed again
    assert path.read_bytes() == sealed


def test_folder_that_cannot_be_written(command, folder, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, err = command(folder, f"to={tmp_path / 'file' / 'inside'}")
    assert status == 2
    assert "cannot be written" in err


def test_help(command):
    status, out, _ = command("--help")
    assert status == 0
    assert "to=OTHER" in out

"""The verdict from W&B is that of the local records."""

import json
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.verdict.conclude import conclude
from ablate.wandb.fetch import connect, fetch

PROJECT, GROUP = "team/ablate", "sinusoidal_vs_learned_multi30k"


@pytest.fixture
def ask(command, monkeypatch, uploaded):
    """Call the command line with W&B played by `uploaded`; return what it prints."""

    def asked(*arguments):
        status, printed, errors = command("judge", *arguments)
        assert status == 0, errors
        return printed

    monkeypatch.setattr("ablate.wandb.fetch.connect", lambda: uploaded)
    return asked


def test_wandb_and_the_local_records_give_the_same_files(ask, swept, tmp_path):
    printed = ask("wandb", f"project={PROJECT}", f"group={GROUP}", f"to={tmp_path / 'a'}")
    verdict = json.loads((swept / "verdict.json").read_text())
    assert any(claim["effect"] for claim in verdict["claims"])  # there is something to compare
    for claim in verdict["claims"]:
        assert claim["evidence"] in printed
    ask(swept, f"to={tmp_path / 'b'}")
    for folder in (tmp_path / "a", tmp_path / "b"):
        assert json.loads((folder / "verdict.json").read_text()) == verdict
        assert Evidence.load(folder).runs == Evidence.load(swept).runs
        assert (folder / "report.md").read_bytes() == (swept / "report.md").read_bytes()


def test_the_evidence_is_that_of_the_analysis_alone(uploaded, analysis, swept):
    evidence = Evidence.load(swept)
    uploaded.all = [analysis]
    fetched = fetch(uploaded, PROJECT, GROUP)
    assert fetched.runs == evidence.runs
    assert conclude(fetched) == conclude(evidence)


def test_evidence_that_was_changed_is_refused(uploaded, analysis, tmp_path):
    (evidence,) = (made for made in analysis.artifacts if made.type == "evidence")
    evidence.contents = [dict(file) for file in evidence.contents]
    (runs,) = (file for file in evidence.contents if file["path"] == "runs.jsonl")
    changed = Path(runs["local_path"]).read_text().replace('"seed":0', '"seed":5')
    (tmp_path / "changed").write_text(changed)
    runs["local_path"] = str(tmp_path / "changed")
    with pytest.raises(UserError, match="has changed since its checksum"):
        fetch(uploaded, PROJECT, GROUP)


def test_the_latest_analysis_of_a_group_counts(uploaded, analysis):
    for place, logged in ((0, 0.0), (len(uploaded.all), -1.0)):
        older = type(analysis)(analysis.records)
        older.config["logged"] = logged
        older.artifacts = []
        uploaded.all.insert(place, older)
    assert len(fetch(uploaded, PROJECT, GROUP).runs) == 4


def test_what_wandb_does_not_have_is_named(uploaded, analysis):
    with pytest.raises(UserError, match="project=team/other.*Could not find project other"):
        fetch(uploaded, "team/other", GROUP)
    with pytest.raises(UserError, match="group=nobody: project=team/ablate has no run"):
        fetch(uploaded, PROJECT, "nobody")
    analysis.artifacts.clear()
    with pytest.raises(UserError, match="no artifact of type evidence"):
        fetch(uploaded, PROJECT, GROUP)
    uploaded.all.remove(analysis)
    with pytest.raises(UserError, match="none of its 4 runs is the analysis"):
        fetch(uploaded, PROJECT, GROUP)


def test_an_artifact_without_its_files_is_named(uploaded, analysis):
    (evidence,) = (made for made in analysis.artifacts if made.type == "evidence")
    evidence.contents = [file for file in evidence.contents if file["path"] != "statistics.npz"]
    with pytest.raises(UserError, match=r"statistics\.npz is missing"):
        fetch(uploaded, PROJECT, GROUP)


@pytest.mark.parametrize("path", ["../harm.json", "/{folder}/harm.json", "deep/../../harm.json"])
def test_an_artifact_writes_nothing_beside_its_own_files(uploaded, analysis, tmp_path, path):
    (evidence,) = (made for made in analysis.artifacts if made.type == "evidence")
    harm = {"path": path.format(folder=tmp_path), "local_path": __file__}
    evidence.contents = [*evidence.contents, harm]
    assert len(fetch(uploaded, PROJECT, GROUP).runs) == 4
    assert not [*tmp_path.parent.rglob("harm.json")]


def test_an_artifact_does_not_point_at_files_of_this_machine(uploaded, analysis):
    (evidence,) = (made for made in analysis.artifacts if made.type == "evidence")
    evidence.contents = [dict(file) for file in evidence.contents]
    evidence.contents[0]["ref"] = "file:///etc/passwd"
    with pytest.raises(UserError, match=r"'file:///etc/passwd'"):
        fetch(uploaded, PROJECT, GROUP)


def test_without_key_or_network_nothing_waits(monkeypatch):
    with pytest.raises(UserError, match="key"):
        connect()
    monkeypatch.setattr("ablate.wandb.fetch.has_key", lambda: True)
    monkeypatch.setattr("ablate.wandb.fetch.reachable", lambda url: False)
    with pytest.raises(UserError, match="http.*WANDB_BASE_URL"):
        connect()

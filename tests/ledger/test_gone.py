"""Evidence that is deleted, in whatever way, is missed by the ledger and `judge`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.evidence.checks import ANALYSIS_LOG, MANIFEST, read_manifest
from ablate.evidence.folder import Evidence
from ablate.ledger.text import limits, read_entries
from ablate.verdict.conclude import load_evidence

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
STUDIES = ["memorising", "worked_examples"]  # trained, trained, without training


@pytest.fixture(params=STUDIES)
def kept(request, folders):
    """A copy of committed evidence in a folder of experiments, with the manifest of all."""
    folder = folders / "experiments" / request.param
    shutil.copytree(EXPERIMENTS / request.param, folder)
    lines = (EXPERIMENTS / MANIFEST).read_text(encoding="utf-8").splitlines(keepends=True)
    matching = [line for line in lines if json.loads(line)["name"] == request.param]
    (folder.parent / MANIFEST).write_text("".join(matching), encoding="utf-8")
    return folder


@pytest.fixture
def ledger(folders):
    def read():
        return {entry.claim.id: entry for entry in read_entries(folders / "experiments")}

    return read


def drop_folder(folder):
    shutil.rmtree(folder)


def drop_verdict(folder):
    (folder / "verdict.json").unlink()


def drop_runs(folder):
    (folder / "runs.jsonl").unlink()


def reseal_without_a_run(folder):
    evidence = Evidence.load(folder)
    replace(evidence, runs=evidence.runs[1:]).save(folder)


def drop_log(folder):
    (folder / ANALYSIS_LOG).unlink(missing_ok=True)


def missing(entries):
    return {name for name, entry in entries.items() if entry.gone}


@pytest.mark.parametrize(
    "delete", [drop_folder, drop_verdict, drop_runs, drop_log, reseal_without_a_run]
)
def test_every_claim_of_kept_evidence_says_that_it_is_gone(kept, ledger, delete):
    claims = {claim for claim, _ in read_manifest(kept.parent)[kept.name]["claims"]}
    assert not missing(ledger())
    if delete is drop_log and not (kept / ANALYSIS_LOG).exists():
        return
    delete(kept)
    after = ledger()
    assert missing(after) == claims
    for name in missing(after):
        assert any(kept.name in text for text in limits(after[name].headline)) or (
            after[name].standing
        )
        assert after[name].standing or after[name].verdict in ("undecided", "mixed", "refuted")


@pytest.mark.parametrize("delete", [reseal_without_a_run, drop_log])
def test_evidence_that_differs_from_the_manifest_is_not_judged(kept, delete):
    assert load_evidence(kept).runs
    logged = (kept / ANALYSIS_LOG).exists()
    delete(kept)
    if delete is drop_log and not logged:
        return
    with pytest.raises(
        UserError, match=MANIFEST if delete is reseal_without_a_run else ANALYSIS_LOG
    ):
        load_evidence(kept)


@pytest.mark.parametrize(
    "edit", [lambda line: line.replace('"digest": "', '"digest": "1'), str.upper]
)
def test_an_edited_manifest_is_said_to_be_damaged(kept, ledger, edit):
    path = kept.parent / MANIFEST
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    for read in (ledger, lambda: load_evidence(kept)):
        with pytest.raises(UserError, match=MANIFEST):
            read()


def test_the_manifest_names_all_committed_evidence():
    folders = {path.parent.name for path in EXPERIMENTS.glob("*/verdict.json")}
    assert folders == read_manifest(EXPERIMENTS).keys()


@pytest.mark.slow
def test_keeping_evidence_adds_a_line(kept, command):
    (kept.parent / MANIFEST).unlink()
    first, second = kept.parent / "first", kept.parent / "second"
    for source, target in ((kept, first), (first, second)):
        target.mkdir()
        assert command("judge", str(source), f"to={target}")[0] == 0
    lines = read_manifest(kept.parent)
    # committed arrays may be compressed in another way, so their digest may be another one
    assert lines["first"]["digest"] == lines["second"]["digest"]
    for target in (first, second):
        assert load_evidence(target).runs == load_evidence(kept).runs

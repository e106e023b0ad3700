"""Evidence that is deleted, in whatever way, is missed by the ledger and `judge`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ablate.errors import UserError
from ablate.evidence.digest import MANIFEST, read_manifest
from ablate.evidence.folder import Evidence
from ablate.evidence.log import ANALYSIS_LOG, Analysis, Sweep, write
from ablate.ledger.entries import read_entries
from ablate.ledger.text import bounds, summary
from ablate.record.files import seal
from ablate.verdict.study_checks import load_evidence

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
STUDIES = ["memorising", "head_width", "worked_examples"]  # trained, trained, without training
CLAIM = "pe_unique"


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
        entries, warnings = read_entries(None, folders / "results")
        return {entry.claim.id: entry for entry in entries}, warnings

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


@pytest.mark.parametrize("delete", [drop_folder, drop_verdict, drop_runs, reseal_without_a_run])
def test_every_claim_of_kept_evidence_says_that_it_is_gone(kept, ledger, delete):
    claims = {claim for claim, _ in read_manifest(kept.parent)[kept.name].claims}
    before, warnings = ledger()
    assert not missing(before) and not warnings
    delete(kept)
    after, warnings = ledger()
    assert missing(after) | {warning.partition(":")[0] for warning in warnings} == claims
    for name in missing(after):
        assert any(kept.name in text for text in bounds(after[name].headline)) or (
            after[name].standing
        )
        decides = after[name].standing or all(evidence.remark for evidence in after[name].gone)
        assert decides or after[name].verdict in ("undecided", "mixed", "refuted")


@pytest.mark.parametrize("delete", [reseal_without_a_run, drop_log])
def test_evidence_that_differs_from_the_manifest_is_not_judged(kept, delete):
    assert load_evidence(kept).runs
    logged = (kept / ANALYSIS_LOG).exists()
    delete(kept)
    if delete is drop_log and not logged:
        return
    with pytest.raises(UserError, match=MANIFEST):
        load_evidence(kept)


@pytest.mark.parametrize(
    ("delete", "name"),
    [
        (drop_verdict, "verdict.json"),
        (drop_runs, "runs.jsonl"),
        (lambda folder: (folder / "study.json").unlink(), "study.json"),
        (reseal_without_a_run, "runs.jsonl"),
    ],
)
def test_the_summary_names_the_file_that_is_gone(kept, folders, delete, name):
    delete(kept)
    entries, warnings = read_entries(None, folders / "results")
    shown = " ".join([*summary(entries), *warnings])
    assert name in shown and kept.name in shown


def as_folder(path):
    path.mkdir()


def as_link_to_itself(path):
    path.symlink_to(path.name)


def as_link_to_a_folder(path):
    path.symlink_to(path.parent)


@pytest.mark.parametrize("replacement", [as_folder, as_link_to_itself, as_link_to_a_folder])
def test_a_manifest_or_a_log_that_cannot_be_read_is_named(kept, folders, ledger, replacement):
    manifest, log = kept.parent / MANIFEST, folders / "results" / ANALYSIS_LOG
    manifest.unlink()
    log.parent.mkdir(exist_ok=True)
    for path in (manifest, log):
        replacement(path)
    warnings = ledger()[1]
    assert all(any(str(path) in warning for warning in warnings) for path in (manifest, log))
    with pytest.raises(UserError, match=MANIFEST):
        load_evidence(kept)


@pytest.mark.parametrize("edit", [lambda line: line.replace('"runs": ', '"runs": 1'), str.upper])
def test_an_edited_manifest_is_said_to_be_damaged(kept, ledger, edit):
    path = kept.parent / MANIFEST
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert MANIFEST in ledger()[1][0]
    with pytest.raises(UserError, match=MANIFEST):
        load_evidence(kept)


SWEEP = Sweep("mine", 1.0, "sweeps/mine/1", "h", {"scale": "cpu"}, {}, 0, [0, 1], {"q": []})


@pytest.fixture
def looked(folders, verdict):
    """Write a sweep of the user's with a look at it, as a conclusion does."""

    def sweep(number, claim=CLAIM, **parts):
        folder = f"sweeps/mine/{number}"
        record = replace(SWEEP, folder=folder, time=float(number), claims=[[claim, ""]], **parts)
        write(folders / "results", record)
        write(folders / "results", Analysis(folder, number + 0.5, [(0, 0), (0, 1)], []))
        verdict(f"results/{folder}", {claim: "refuted"}, time=float(number))
        return folders / "results" / folder

    return sweep


@pytest.mark.parametrize("delete", [drop_folder, drop_verdict])
def test_a_deleted_sweep_is_missed(ledger, looked, verdict, delete):
    verdict("results/sweeps/other/1", {CLAIM: "supported"})
    sweep = looked(1)
    assert not missing(ledger()[0])
    delete(sweep)
    entry = ledger()[0][CLAIM]
    assert [evidence.experiment for evidence in entry.gone] == ["sweeps/mine/1"]
    assert entry.verdict == "undecided"


def test_the_copy_of_a_log_in_another_sweep_misses_it_too(folders, ledger, looked):
    first, second = looked(1), looked(2, study="another", questions={"p": []})
    shutil.move(folders / "results" / ANALYSIS_LOG, second / ANALYSIS_LOG)
    shutil.rmtree(first)
    assert [evidence.experiment for evidence in ledger()[0][CLAIM].gone] == ["sweeps/mine/1"]


@pytest.mark.parametrize(
    ("parts", "later"),
    [
        pytest.param({"regime": {"scale": "smoke"}}, None, id="smoke scale"),
        pytest.param({"contest": True}, None, id="a replication"),
        pytest.param({}, {}, id="the same study again"),
        pytest.param({}, {"study": "b", "questions": {"q": [], "r": []}}, id="more questions"),
    ],
)
def test_a_sweep_that_decides_nothing_or_was_made_again_is_not_missed(ledger, looked, parts, later):
    first = looked(1, **parts)
    if later is not None:
        looked(2, **later)
    shutil.rmtree(first)
    assert not missing(ledger()[0])


def test_a_part_of_a_study_has_no_verdict_that_could_be_missed(ledger, looked):
    folder = looked(1)
    drop_verdict(folder)
    assert missing(ledger()[0])
    part = {"name": "mine", "study": {}, "regime": {}, "registration": {"part": True}}
    (folder / "study.json").write_text(json.dumps(part))
    assert not missing(ledger()[0])


def test_a_claim_of_the_user_that_has_no_other_evidence_is_a_warning(ledger, looked):
    shutil.rmtree(looked(1, claim="my_claim"))
    assert [
        warning for warning in ledger()[1] if "my_claim" in warning and "sweeps/mine/1" in warning
    ]


def test_the_manifest_names_all_committed_evidence():
    folders = {path.parent.name for path in EXPERIMENTS.glob("*/verdict.json")}
    assert folders == read_manifest(EXPERIMENTS).keys()


@pytest.mark.slow
def test_keeping_evidence_adds_a_line(kept, command):
    (kept.parent / MANIFEST).unlink()
    (kept.parent / "other").mkdir()
    assert command("judge", str(kept), f"to={kept.parent / 'other'}")[0] == 0
    study = read_manifest(kept.parent)["other"]
    assert study.runs == len(Evidence.load(kept).runs)


def test_only_the_last_line_of_a_study_counts(kept):
    path = kept.parent / MANIFEST
    last = json.loads(path.read_text().splitlines()[-1])
    fields = {key: value for key, value in last.items() if key != "seal"}
    with path.open("a") as file:
        file.write(json.dumps(seal(fields | {"runs": 999})) + "\n")
    assert read_manifest(kept.parent)[kept.name].runs == 999

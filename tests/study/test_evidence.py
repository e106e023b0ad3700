"""The evidence of a study survives being written and read, and damage and edits are noticed."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.checks import ANALYSIS_LOG, PARTS, read_parts, write_about
from ablate.evidence.folder import Evidence, bleu
from ablate.evidence.gather import _origin, round_results, training_curve_of, tuning_run
from ablate.evidence.outcome import value
from ablate.verdict.conclude import conclude, load_evidence

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture
def folder(translated, saved):
    """Evidence of two arms with an effect, saved."""
    runs, statistics = translated(3)
    for run in runs:
        run["metrics"]["test/nll"] = 2.0 if run["arm"] == "post_ln" else 5.0 + run["seed"] / 10
    return saved(runs, statistics=statistics)


@pytest.fixture
def edit(folder):
    """Change study.json with a function, or the third line of runs.jsonl, and return the folder.

    With `sealed`, the digests are those of the changed files.
    """

    def change(name, changed, *, sealed=False):
        path = folder / name
        lines = path.read_text().splitlines() if name == "runs.jsonl" else [path.read_text()]
        number = 2 if name == "runs.jsonl" else 0
        edited = json.loads(lines[number])
        changed(edited)
        lines[number] = json.dumps(edited)
        path.write_text("\n".join(lines))
        if sealed:
            about = read_parts(folder)
            write_about(folder, {part: about[part] for part in PARTS}, about["registered"])
        return folder

    return change


def widen(about):
    about["study"]["claims"][0]["margin"] = 8.0


def test_what_is_written_is_read(folder, tmp_path):
    first = Evidence.load(folder)
    first.save(tmp_path / "again")
    reread = Evidence.load(tmp_path / "again")
    assert (reread.runs, reread.screening) == (first.runs, first.screening)
    assert (reread.study, reread.registered) == (first.study, first.registered)
    assert reread.statistics.keys() == first.statistics.keys()
    for identity, splits in first.statistics.items():
        np.testing.assert_array_equal(reread.statistics[identity]["test"], splits["test"])


def test_large_files_of_runs_are_compressed_and_small_ones_are_not(folder, monkeypatch):
    monkeypatch.setattr("ablate.evidence.folder.PLAIN", 100)
    saved = Evidence.load(folder)
    tuning = {**saved.runs[0], "cell": 100, "tuned": {"key": "optimizer.lr", "value": 0.1}}
    replace(saved, screening=[tuning]).save(folder)
    plain = [folder / name for name in ("runs.jsonl", "screening.jsonl")]
    compressed = [path.with_suffix(".jsonl.gz") for path in plain]
    assert all(path.exists() for path in compressed) and not any(path.exists() for path in plain)
    reread = Evidence.load(folder)
    assert (reread.runs, [run["cell"] for run in reread.screening]) == (saved.runs, [100])
    with monkeypatch.context() as patch, pytest.raises(UserError):
        patch.setattr("ablate.evidence.checks.LARGEST", 100)
        Evidence.load(folder)
    monkeypatch.setattr("ablate.evidence.folder.PLAIN", 1_000_000)
    texts = [gzip.decompress(path.read_bytes()) for path in compressed]
    reread.save(folder)
    assert [path.read_bytes() for path in plain] == texts
    assert not any(path.exists() for path in compressed)


def test_arms_of_corpora_of_other_sizes_are_kept_too(translated, saved):
    runs, statistics = translated(3)
    for run in runs[3:]:
        rows = statistics[run["identity"]]
        rows["test"] = rows["test"][:7]
        run["metrics"]["test/bleu"] = bleu(rows["test"])
    loaded = Evidence.load(saved(runs, statistics=statistics)).statistics
    assert [len(loaded[run["identity"]]["test"]) for run in runs] == [200] * 3 + [7] * 3
    for identity, splits in statistics.items():
        np.testing.assert_array_equal(loaded[identity]["test"], splits["test"])


@pytest.mark.parametrize("name", ["study.json", "runs.jsonl", "statistics.npz"])
def test_a_missing_or_damaged_file_is_named(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(UserError, match=name):
        Evidence.load(folder)
    path.unlink()
    with pytest.raises(UserError, match=name):
        Evidence.load(folder)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("runs.jsonl", lambda run: run["metrics"].update({"test/nll": 1.0})),
        ("runs.jsonl", lambda run: run.update(status="diverged")),
        ("runs.jsonl", lambda run: run.update(seed=7)),
        ("study.json", lambda about: about["registration"].update(looks=3)),
        ("study.json", lambda about: about["regime"].update(data="wmt14")),
    ],
)
def test_edits_are_refused(edit, name, changed):
    with pytest.raises(UserError, match=name):
        Evidence.load(edit(name, changed))


def test_edited_statistics_are_refused(folder, translated):
    kept = (folder / "study.json").read_bytes()
    replace(Evidence.load(folder), statistics=translated(3, numbers=1)[1]).save(folder)
    (folder / "study.json").write_bytes(kept)
    with pytest.raises(UserError, match="statistics.npz"):
        Evidence.load(folder)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("kept", "study_changed"),
        ("gone", "registration_missing"),
        ("changed as well", "registration_changed"),
    ],
)
def test_a_changed_margin_makes_the_verdicts_exploratory_and_is_told(edit, how, code):
    assert not conclude(Evidence.load(edit("study.json", lambda about: None)))["exploratory"]
    registered = edit("study.json", widen) / "registered.json"
    text = registered.read_text()
    registered.unlink()
    if how != "gone":
        margin = '"margin": 1.0' if how == "kept" else '"margin": 8.0'
        registered.write_text(text.replace('"margin": 1.0', margin))
    conclusion = conclude(Evidence.load(registered.parent))
    assert conclusion["exploratory"] and conclusion["claims"][0]["exploratory"]
    assert conclusion["caveats"][0]["code"] == code
    if how == "kept":
        changes = [["study.claims.1.margin", 1.0, 8.0]]
        assert conclusion["caveats"][0]["values"]["changes"] == changes


@pytest.mark.parametrize(
    ("name", "changed", "key"),
    [
        ("runs.jsonl", lambda run: run["metrics"].update({"a": float("nan")}), "finite"),
        ("runs.jsonl", lambda run: run.update(seed=0), "cells 0 and 2"),
        ("study.json", lambda about: about["study"].pop("fixed"), "study.fixed"),
    ],
)
def test_malformed_parts_are_named(edit, name, changed, key):
    with pytest.raises(UserError, match=rf"{name}.*{key}"):
        Evidence.load(edit(name, changed))


def test_a_run_that_was_started_under_another_form_is_told(edit):
    folder = edit("runs.jsonl", lambda run: run.update(study="0123456789abcdef"), sealed=True)
    conclusion = conclude(Evidence.load(folder))
    assert conclusion["exploratory"]
    assert conclusion["caveats"][0]["code"] == "runs_of_other_study"
    assert len(conclusion["caveats"][0]["values"]["cells"]) == 1


@pytest.mark.parametrize(("lines", "steps"), [(96, range(100, 2401, 100)), (3, (25, 50, 75))])
def test_a_curve_of_training_has_two_dozen_points_at_most(tmp_path, lines, steps):
    logged = [
        {"step": 25 * number, "train/nll": None if number == 2 else 1 / number}
        for number in range(1, lines + 1)
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in [*logged, {"step": 75, "val/nll": 1.0}])
    (tmp_path / "metrics.jsonl").write_text(text)
    curve = training_curve_of(tmp_path)
    assert curve["step"] == list(steps)
    assert curve["train/nll"][-1] == float(f"{1 / lines:.4g}")
    (tmp_path / "metrics.jsonl").write_text("")
    assert training_curve_of(tmp_path) == {}


def test_a_probe_keeps_all_digits_as_some_values_differ_in_the_last_ones():
    metrics = {"cosine": 0.9999999999999831}
    assert round_results(metrics, {}) == (metrics, {})
    loss = {"step": [2], "val/nll": [6.689844131469727]}
    assert round_results(metrics, loss) == ({"cosine": 1.0}, {"step": [2], "val/nll": [6.68984413]})


@pytest.mark.parametrize(("status", "shown"), [("finished", 2.0), ("collapsed", 5.0)])
def test_a_tuning_run_keeps_the_score_that_tunes_and_nothing_else(run, status, shown):
    metrics = {"val/nll": 2.0, "val/bleu": 30.0, "unigram_nll": 5.0, "gradient/first": 1.0}
    whole = run({}, 901, status, **metrics) | {"curve": {"step": [1]}, "training": {"step": [1]}}
    left = tuning_run(whole, "val/nll")
    assert value(left, "val/nll") == shown
    assert left["metrics"] == {"val/nll": 2.0, "unigram_nll": 5.0}
    assert left["curve"] == {}
    assert "training" not in left
    assert left.keys() | {"training"} == whole.keys()


@pytest.mark.parametrize("more", [{"commit": "4935ff1d", "processor": "EPYC"}, {}])
def test_evidence_names_the_versions_and_the_commit_of_a_run(tmp_path, more):
    made = {"python": "3.11", "packages": {"torch": "2.13.0", "unused": "1"}, **more}
    (tmp_path / "environment.json").write_text(json.dumps(made))
    (tmp_path / "identity.json").write_text("{}")
    kept_of_run = _origin(tmp_path)
    assert kept_of_run["versions"]["torch"] == "2.13.0"
    assert "unused" not in kept_of_run["versions"]
    assert kept_of_run.items() >= more.items()


@pytest.fixture
def logged(tmp_path):
    """A copy of committed evidence that has a log."""
    return shutil.copytree(EXPERIMENTS / "memorising", tmp_path / "memorising")


def test_seeds_that_are_dropped_and_sealed_again_are_missed(logged):
    evidence = load_evidence(logged)
    dropped = min(run["seed"] for run in evidence.runs)
    left = [run for run in evidence.runs if run["seed"] != dropped]
    replace(evidence, runs=left).save(logged)
    assert Evidence.load(logged).runs  # its seal is as good as before
    with pytest.raises(UserError, match=f"{ANALYSIS_LOG} .*{dropped}"):
        load_evidence(logged)

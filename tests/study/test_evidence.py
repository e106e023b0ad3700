"""The evidence of a study survives being written and read, and damage and edits are noticed."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.checks import PARTS, read_parts, write_about
from ablate.evidence.folder import Evidence, bleu
from ablate.evidence.gather import _origin, _training, kept, tuning_run
from ablate.evidence.outcome import value
from ablate.verdict.conclude import conclude
from ablate.verdict.study_checks import load_evidence


@pytest.fixture
def folder(translated, saved):
    """Evidence of two arms with an effect, saved."""
    runs, statistics = translated(3)
    for run in runs:
        run["metrics"]["test/nll"] = 2.0 if run["arm"] == "post_ln" else 5.0 + run["seed"] / 10
    return saved(runs, statistics=statistics)


@pytest.fixture
def edit(folder):
    """Change a file of the folder: study.json as a whole, runs.jsonl in its third line."""

    def change(name, changed, *, sealed=False):
        path = folder / name
        if name == "study.json":
            about = json.loads(path.read_text())
            path.write_text(json.dumps(changed(about) or about))
        else:
            lines = path.read_text().splitlines()
            run = json.loads(lines[2])
            lines[2] = json.dumps(changed(run) or run)
            path.write_text("\n".join(lines))
        if sealed:
            about = read_parts(folder)
            write_about(folder, {part: about[part] for part in PARTS}, about["registered"])
        return folder

    return change


def test_what_is_written_is_read(folder, tmp_path):
    first = Evidence.load(folder)
    first.save(tmp_path / "again")
    reread = Evidence.load(tmp_path / "again")
    assert (reread.runs, reread.screening) == (first.runs, first.screening)
    assert (reread.study, reread.registered) == (first.study, first.registered)
    assert reread.statistics.keys() == first.statistics.keys()
    for identity, splits in first.statistics.items():
        np.testing.assert_array_equal(reread.statistics[identity]["test"], splits["test"])


@pytest.fixture
def tuned(folder, monkeypatch):
    """Evidence with a run that tuned a learning rate, saved; the path of the compressed file of
    this run.
    """
    monkeypatch.setattr("ablate.evidence.folder.PLAIN", 100)
    evidence = Evidence.load(folder)
    run = {**evidence.runs[0], "cell": 100, "tuned": {"key": "optimizer.lr", "value": 0.1}}
    replace(evidence, screening=[run]).save(folder)
    return folder / "screening.jsonl.gz"


@pytest.mark.parametrize("name", ["runs.jsonl", "screening.jsonl"])
def test_large_files_of_runs_are_compressed_and_small_ones_are_not(tuned, name, monkeypatch):
    plain, compressed = tuned.parent / name, tuned.parent / f"{name}.gz"
    assert compressed.exists() and not plain.exists()
    evidence = Evidence.load(tuned.parent)
    monkeypatch.setattr("ablate.evidence.folder.PLAIN", 1_000_000)
    text = gzip.decompress(compressed.read_bytes())
    evidence.save(tuned.parent)
    assert plain.read_bytes() == text and not compressed.exists()
    reread = Evidence.load(tuned.parent)
    assert (reread.runs, reread.screening) == (evidence.runs, evidence.screening)
    assert [run["cell"] for run in reread.screening] == [100]


def test_a_file_that_unpacks_to_too_much_is_refused(tuned, monkeypatch):
    monkeypatch.setattr("ablate.evidence.checks.LARGEST", 100)
    with pytest.raises(UserError, match=r"cannot be read: it has more than 100 bytes"):
        Evidence.load(tuned.parent)


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
    with pytest.raises(UserError, match=rf"{name}.* cannot be read"):
        Evidence.load(folder)
    path.unlink()
    with pytest.raises(UserError, match=name):
        Evidence.load(folder)


@pytest.mark.parametrize(
    "changed",
    [
        lambda run: run["metrics"].update({"test/nll": 1.0}),
        lambda run: run.update(status="diverged"),
        lambda run: run.update(seed=7),
    ],
    ids=["value", "status", "seed"],
)
def test_an_edited_run_is_refused(edit, changed):
    folder = edit("runs.jsonl", changed)
    with pytest.raises(UserError, match=r"runs.jsonl has changed since .*: restore"):
        Evidence.load(folder)


def test_a_dropped_run_is_refused(folder):
    path = folder / "runs.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(UserError, match=r"runs.jsonl has changed since"):
        Evidence.load(folder)


def test_edited_statistics_are_refused(folder, translated):
    _, other_statistics = translated(3, numbers=1)
    evidence = Evidence.load(folder)
    kept = (folder / "study.json").read_bytes()
    Evidence(*(getattr(evidence, p) for p in ("name", "study", "regime", "registration", "runs")),
             statistics=other_statistics).save(folder)  # fmt: skip
    (folder / "study.json").write_bytes(kept)
    with pytest.raises(UserError, match=r"statistics.npz has changed since"):
        Evidence.load(folder)


@pytest.mark.parametrize(
    "changed",
    [
        lambda about: about["registration"].update(looks=3),
        lambda about: about["regime"].update(data="wmt14"),
    ],
)
def test_an_edited_registration_or_regime_is_refused(edit, changed):
    with pytest.raises(UserError, match=r"study.json has changed"):
        Evidence.load(edit("study.json", changed))


def test_a_changed_margin_makes_the_verdicts_exploratory_and_is_told(edit):
    def widened(about):
        about["study"]["claims"][0]["margin"] = 8.0

    before = conclude(Evidence.load(edit("study.json", lambda about: None)))
    assert not before["exploratory"]
    after = conclude(Evidence.load(edit("study.json", widened)))
    assert after["exploratory"] and after["claims"][0]["exploratory"]
    assert after["caveats"][0]["code"] == "study_changed"
    assert after["caveats"][0]["values"]["changes"] == [["study.claims.1.margin", 1.0, 8.0]]


@pytest.mark.parametrize("how", ["changed", "gone", "[1]"])
def test_where_the_registered_form_is_gone_or_changed_as_well_the_hash_tells(edit, how):
    def widened(about):
        about["study"]["claims"][0]["margin"] = 8.0

    folder = edit("study.json", widened)
    form = folder / "registered.json"
    if how == "gone":
        form.unlink()
    else:
        changed = form.read_text().replace('"margin": 1.0', '"margin": 8.0')
        form.write_text(changed if how == "changed" else how)
    if how == "[1]":
        with pytest.raises(UserError, match=r"registered\.json .* must be a JSON object"):
            Evidence.load(folder)
        return
    conclusion = conclude(Evidence.load(folder))
    assert conclusion["exploratory"]
    code = "registration_missing" if how in ("gone", "{}") else "registration_changed"
    assert conclusion["caveats"][0]["code"] == code


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("study", {"literature": "others say", "fixed": ["the corpus"], "expect": "identical"}),
        ("claim", {"statement": "A better sentence.", "source": "section 2"}),
    ],
)
def test_wording_reasons_and_names_may_be_corrected(edit, part, words):
    def corrected(about):
        (about["study"] if part == "study" else about["study"]["claims"][0]).update(words)

    assert not conclude(Evidence.load(edit("study.json", corrected)))["exploratory"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda run: run.pop("metrics") and None, "2.metrics: Field required"),
        (lambda run: run["metrics"].update({"test/nll": float("nan")}), "is not finite"),
        (lambda run: run.update(status="done"), "2.status: .*'finished', 'diverged'"),
        (lambda run: run.update(seed=0), "cells 0 and 2 are both"),
    ],
)
def test_malformed_runs_are_named(edit, changed, words):
    with pytest.raises(UserError, match=rf"runs.jsonl.*{words}"):
        Evidence.load(edit("runs.jsonl", changed))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda about: about["study"].pop("fixed") is None or None, "study.fixed: Field required"),
        (lambda about: about["study"]["claims"][0].update(margin=float("nan")), "is not finite"),
    ],
)
def test_a_malformed_study_is_named(edit, changed, words):
    with pytest.raises(UserError, match=rf"study.json.*{words}"):
        Evidence.load(edit("study.json", changed))


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"claims": []}, "study.claims=.*at least one item")],
)
def test_a_study_that_no_rule_can_decide_is_not_loaded_for_a_verdict(folder, changes, words):
    evidence = Evidence.load(folder)
    replace(evidence, study={**evidence.study, **changes}).seal(folder)
    with pytest.raises(UserError, match=rf"study.json.*{words}"):
        load_evidence(folder)


@pytest.mark.parametrize("how", ["zip of nothing", "flipped", "other shape"])
def test_damaged_statistics_end_in_one_sentence(folder, how):
    path = folder / "statistics.npz"
    whole = path.read_bytes()
    if how == "other shape":
        np.savez(path, test=np.ones((4, 2)), **{"test of runs": np.array(["a"])})
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
        damaged = {"zip of nothing": b"PK", "gzip": gzip.compress(whole), "flipped": flipped}
        path.write_bytes(damaged[how])
    with pytest.raises(UserError, match=r"statistics.npz (cannot be read|has changed since)"):
        Evidence.load(folder)


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
    curve = _training(tmp_path)
    assert curve["step"] == list(steps)
    assert curve["train/nll"][-1] == float(f"{1 / lines:.4g}")
    (tmp_path / "metrics.jsonl").write_text("")
    assert _training(tmp_path) == {}


def test_a_probe_keeps_all_digits_as_some_values_differ_in_the_last_ones():
    metrics = {"cosine": 0.9999999999999831}
    assert kept(metrics, {}) == (metrics, {})
    trained = {"step": [2], "val/nll": [6.689844131469727]}
    assert kept(metrics, trained) == ({"cosine": 1.0}, {"step": [2], "val/nll": [6.68984413]})


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


@pytest.mark.parametrize("commit", [{"commit": "4935ff1d"}, {"commit": None}, {}])
def test_evidence_names_the_versions_and_the_commit_of_a_run(tmp_path, commit):
    made = {"python": "3.11", "packages": {"torch": "2.13.0", "unused": "1"}, **commit}
    made |= {"processor": "EPYC", "instructions": "AVX2"} if commit else {}
    (tmp_path / "environment.json").write_text(json.dumps(made))
    (tmp_path / "identity.json").write_text("{}")
    kept_of_run = _origin(tmp_path)
    assert kept_of_run["versions"]["torch"] == "2.13.0"
    assert "unused" not in kept_of_run["versions"]
    assert kept_of_run.get("commit") == commit.get("commit")
    assert kept_of_run.get("processor") == ("EPYC" if commit else None)
    assert kept_of_run.get("instructions") == ("AVX2" if commit else None)

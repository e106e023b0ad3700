"""`ablate clean`: what is shown goes only when asked, and no verdict changes."""

import json
import os
import shutil

import pytest

from ablate.record.files import seal, unfinished, write_json
from ablate.record.lock import take

SWEEP = ("+experiment=heads_param_count", "model.n_heads=1,2", "seed=1", "-m")


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def clean(command, results, tmp_path):
    """Call the command on the results of the test, and a cache without anything."""
    return lambda *words: command("clean", f"results={results}", f"cache={tmp_path / 'c'}", *words)


@pytest.fixture
def leftovers(results):
    """Every kind of leftover; their paths by kind."""
    run = ended(results / "runs" / "fedcba9876543210", "finished")
    return {
        "checkpoints": made(run / "checkpoints" / "last.ckpt").parent,
        "failed": ended(results / "runs" / "0123456789abcdef", "failed"),
        "unfinished": left(run / "result.json"),
        "stale_sweeps": stale(results),
        "broken_names": broken(results / "by-name" / "alone" / "gone"),
        "uploaded": made(run / "wandb" / "offline-run-1-x" / "run-x.wandb.synced").parent,
        "weights": made(run / "weights.pt"),
        "unused_runs": run,
    }


def made(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"0" * 1000)
    return path


def ended(run, status):
    made(run / "checkpoints" / "last.ckpt")
    write_json(run / "result.json", seal({"status": status, "identity": run.name, "files": {}}))
    return run


def left(path):
    """What a process that is gone was writing."""
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
    name = unfinished(path).name.replace(f".{os.getpid()}@", f".{process}@")
    return made(path.with_name(name))


def stale(results):
    sweep = results / "sweeps" / "old" / "2026-01-01_00-00-00"
    link = {"cell": 0, "levels": {}, "status": "finished", "training": "f" * 16}
    write_json(sweep / "cells" / "0000.json", seal(link))
    return sweep


def broken(path):
    path.parent.mkdir(parents=True)
    path.symlink_to("../nowhere")
    return path


KEPT = ("weights", "unused_runs")  # unless they are asked for


def test_nothing_goes_until_that_is_asked_for(clean, leftovers, results):
    before = sorted(results.rglob("*"))
    status, out, _ = clean()
    assert status == 0 and sorted(results.rglob("*")) == before
    assert [f"{kind}: 1, " in out for kind in leftovers] == [kind not in KEPT for kind in leftovers]
    assert all(str(path) in out for kind, path in leftovers.items() if kind not in KEPT)
    status, out, _ = clean("delete=true")
    assert status == 0
    assert [os.path.lexists(path) for path in leftovers.values()] == [
        kind in KEPT for kind in leftovers
    ]
    assert not list((results / "locks").glob("*.lock"))
    assert "There is nothing to remove" in clean("what=failed,stale_sweeps,uploaded")[1]


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_the_evidence_of_a_part_stays_when_its_runs_are_gone(clean, leftovers, name):
    evidence = made(leftovers["stale_sweeps"] / name)
    assert clean("delete=true", "what=stale_sweeps")[0] == 0
    assert evidence.exists()


@pytest.mark.slow
def test_the_verdict_stays_whatever_goes(clean, command, small, here, results):
    assert command(*small, *SWEEP)[0] == 0
    assert command(*small, "probe=parameter_count", "seed=5", "name=alone")[0] == 0
    alone = next((results / "by-name" / "alone").iterdir()).resolve()
    (sweep,) = (results / "sweeps" / "heads_param_count").iterdir()
    verdict = json.loads((sweep / "verdict.json").read_text(encoding="utf-8"))
    assert clean("delete=true")[0] == clean("delete=true", "what=weights,unused_runs")[0] == 0
    assert not alone.exists()
    assert command("judge", sweep)[0] == 0
    again = json.loads((sweep / "verdict.json").read_text(encoding="utf-8"))
    assert again["claims"] == verdict["claims"]
    status, _, error = command(*small, *SWEEP)  # all of its runs are reused
    assert status == 0 and error.count("reused,") == 4


def test_what_a_process_works_on_stays(clean, leftovers, results):
    run = leftovers["failed"]
    (run / "weights.pt").write_bytes(b"0" * 3_000_000)
    lock = take(results / "locks" / f"{run.name}.lock")
    try:
        status, out, _ = clean("delete=true")
    finally:
        lock.release()
    assert status == 0 and f"{run} was kept" in out and run.exists()
    removed = len(leftovers) - len(KEPT) - 1
    assert f"Removed {removed} of {removed + 1}, 0.0 MB in all." in out
    assert list((results / "locks").glob("*.lock"))
    assert clean("delete=true")[0] == 0 and not run.exists()


def test_a_cache_goes_unless_a_process_is_building_it(clean, leftovers, tmp_path):
    half, building = (made(tmp_path / "c" / "tokens" / n / "train.tgt.ids").parent for n in "ab")
    lock = take(tmp_path / "c" / "locks" / "b.lock")
    try:
        assert clean("delete=true")[0] == 0
    finally:
        lock.release()
    assert building.exists() and not half.exists()
    assert clean("delete=true")[0] == 0 and not building.exists()
    assert not list((tmp_path / "c" / "locks").iterdir())


def test_links_are_not_followed(clean, leftovers, results, tmp_path):
    elsewhere = ended(tmp_path / "elsewhere", "failed")
    (results / "runs" / "ffffffffffffffff").symlink_to(elsewhere)
    shutil.rmtree(leftovers["checkpoints"])
    other = made(tmp_path / "other" / "last.ckpt").parent
    leftovers["checkpoints"].symlink_to(other)
    assert clean("delete=true")[0] == 0
    assert (elsewhere / "result.json").exists() and (other / "last.ckpt").exists()


@pytest.mark.parametrize(
    "words", [("what=runs",), ("what=failed,verdicts",), ("delete=yes",), ("results=nowhere",)]
)
def test_wrong_words_are_refused(clean, leftovers, results, words):
    before = sorted(results.rglob("*"))
    assert clean("delete=true", *words)[0] == 2
    assert sorted(results.rglob("*")) == before


def test_a_folder_without_results_is_refused(command, tmp_path):
    made(tmp_path / "thesis" / "locks" / "chapter.lock")
    assert command("clean", f"results={tmp_path / 'thesis'}", "delete=true")[0] == 2
    assert (tmp_path / "thesis" / "locks" / "chapter.lock").exists()

"""Files that were changed since they were written: each is named, and never used."""

import shutil
from itertools import cycle
from pathlib import Path

import pytest

from ablate.errors import UserError, say_once
from ablate.evidence.checks import write_about
from ablate.evidence.gather import gather, round_results
from ablate.record.files import seal, write_json
from ablate.train.module import Training
from ablate.train.restore import restore

from .conftest import DAMAGES, damage

# Files of a finished run, below its folder, and whether it has to be trained again.
TRAINING = (
    *("result.json", "config.yaml", "identity.json", "environment.json", "metrics.jsonl"),
    "tokenizer/joint.json",
)
TESTING = ("result.json", "identity.json", "test.hyp", "test.stats.npz")


@pytest.fixture
def finished(whole):
    """A finished run: what it says."""
    return whole()


@pytest.fixture
def copied(copied):
    """Copy its results under another name; return the folders of the training and of the test."""

    def copy(name):
        result = copied(name)
        return Path(result["folder"]), Path(result["evaluation"])

    return copy


def test_changed_results_are_named_and_made_again(go, left, finished, copied, capfd):
    whole = left(finished)
    edits = (
        (0, "result.json", '"val/nll": ', '"val/nll": 1', True),
        (0, "metrics.jsonl", '"val/nll": ', '"val/nll": 1', True),
        (1, "result.json", '"finished"', '"diverged"', False),
        (1, "test.hyp", "\n", " .\n", False),
    )
    for part, name, old, new, trained in edits:
        path = copied("changed")[part] / name
        path.write_text(path.read_text().replace(old, new, 1))
        capfd.readouterr()
        result = go("changed")
        assert str(path) in capfd.readouterr().out
        assert result["trained"] is trained
        assert left(result) == whole


def test_weights_of_another_run_are_refused(go, whole, finished, copied, capfd):
    other = whole("seed=2")
    folder, _ = copied("mixed")
    shutil.copyfile(Path(other["folder"], "weights.pt"), folder / "weights.pt")
    with pytest.raises(UserError, match="weights.pt"):
        restore(folder, {}, [], "cpu", 1)
    result = go("mixed", "search=greedy")
    assert "weights.pt" in capfd.readouterr().out
    assert result["metrics"]["val/nll"] == finished["metrics"]["val/nll"]


def test_the_folder_of_another_run_is_refused(go, whole, finished, copied, capfd):
    other = whole("seed=2")
    folder, _ = copied("swapped")
    shutil.rmtree(folder)
    shutil.copytree(other["folder"], folder)
    result = go("swapped")
    assert other["training"] in capfd.readouterr().out
    assert result["metrics"] == finished["metrics"]


@pytest.fixture
def sweep(tmp_path):
    """Write the folder of a sweep with one cell, as the sweep itself would."""

    def written(result, folder, tests):
        about = {"name": "one", "study": None, "regime": {}, "registration": {"command": ""}}
        (tmp_path / "sweep").mkdir()
        write_about(tmp_path / "sweep", about, {})
        link = {"cell": 0, "seed": 1, "levels": {}, "overrides": [], **result}
        link |= {"folder": str(folder), "evaluation": str(tests)}
        write_json(tmp_path / "sweep" / "cells" / "0000.json", seal(link))
        return tmp_path / "sweep"

    return written


def test_evidence_is_not_gathered_from_what_was_changed(finished, copied, sweep):
    folder = sweep(finished, *copied("gathered"))
    (run,) = gather(folder).runs
    assert run["metrics"] == round_results(finished["metrics"], run["curve"])[0]
    for part, name in ((0, "result.json"), (0, "metrics.jsonl"), (1, "test.stats.npz")):
        path = copied("gathered")[part] / name
        damage(path, "bit in the middle")
        with pytest.raises(UserError, match=name):
            gather(folder)
    copied("gathered")
    link = folder / "cells" / "0000.json"
    link.write_text(link.read_text().replace('"val/nll": ', '"val/nll": 1', 1))
    with pytest.raises(UserError, match="0000.json"):
        gather(folder)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damage_to_every_file_of_a_finished_run(go, left, finished, copied, capfd):
    whole = left(finished)
    parts = [(0, name) for name in TRAINING] + [(1, name) for name in TESTING]
    for (part, name), how in zip(parts, cycle(DAMAGES)):
        path = copied("damaged")[part] / name
        assert damage(path, how), (name, how)
        say_once.cache_clear()  # as in a new process
        capfd.readouterr()
        result = go("damaged")
        assert str(path) in capfd.readouterr().out, how
        assert left(result) == whole, (name, how)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_damage_to_the_state_of_an_interrupted_run(go, kill, left, whole, tmp_path, capfd):
    best = "checkpoint.tested=best"
    whole = left(whole(best))
    kill("half", Training, "training_step", 12, best)
    (half,) = (tmp_path / "half" / "runs").iterdir()
    for name in ("checkpoints/last.ckpt", "checkpoints/best.pt"):
        for how in DAMAGES:
            folder = tmp_path / "damaged" / "runs" / half.name
            shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
            shutil.copytree(half, folder)
            damage(folder / name, how)
            capfd.readouterr()
            try:
                record = go("damaged", best)
                message = capfd.readouterr().out
            except UserError as error:
                message = str(error)
                record = go("damaged", best)
            named = Path(name).name in message and "damaged" in message
            assert named or how == "last bit", how  # of the archive's comment, which nobody reads
            assert left(record) == whole, (name, how)

"""What a test needs is checked before training, and belongs to the identity of the test alone."""

from pathlib import Path

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

SMALL = (
    *("logger=none", "search=greedy", "search.max_ratio=0.5", "search.max_extra=1"),
    *("budget.steps=2", "budget.warmup=1", "budget.validate_every=2"),
    *("model.d_model=16", "model.d_ff=32", "model.n_layers=1", "model.n_heads=2"),
)


@pytest.fixture
def files(tmp_path):
    """Write a corpus of three splits, 40 pairs each, as files of two columns."""
    for split in ("train", "validation", "test"):
        lines = [f"{split} says {i}\tsagt {i} {split}\n" for i in range(40)]
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def words(files, cache_folder):
    corpus = [f"data.{split}={files / split}.tsv" for split in ("train", "validation", "test")]
    folders = (f"paths.results={files / 'results'}", f"paths.cache={cache_folder}")
    data = ("data=parallel", "data.source=en", "data.target=de", "tokenizer=char")
    return (*SMALL, *data, *corpus, *folders)


@pytest.fixture
def go(compose, words):
    return lambda *overrides: run(resolve(compose(*words, *overrides)))


@pytest.fixture
def untrained(monkeypatch):
    """No step may be taken."""
    monkeypatch.setattr(Training, "training_step", None)


def kept(result, split):
    """The arrays that a test of a split has left."""
    with np.load(Path(result["evaluation"], f"{split}.stats.npz")) as arrays:
        return {name: arrays[name] for name in arrays}


def groups_of(files, count):
    (files / "test.groups").write_text("".join(f"document {i // 10}\n" for i in range(count)))


@pytest.mark.parametrize("count", [39, 41])
def test_groups_of_another_length_end_a_run_before_its_first_step(go, files, untrained, count):
    groups_of(files, count)
    with pytest.raises(UserError, match=f"{count} groups"):
        go()
    assert not (files / "results").exists()


@pytest.mark.parametrize(
    "override",
    [
        "trainer.limit_val_batches=0",
        "trainer.limit_train_batches=0",
        "trainer.overfit_batches=0.001",
        "trainer.accumulate_grad_batches=41",
        "trainer.accumulate_grad_batches=2 batch.tokens=4096",
        "trainer.accumulate_grad_batches=2 trainer.limit_train_batches=0.4 batch.tokens=256",
        "trainer.limit_test_batches=1",
        "test_splits=[test,dev]",
    ],
)
def test_what_a_test_would_lack_ends_a_run_before_its_first_step(go, files, untrained, override):
    with pytest.raises(UserError, match=override.partition("=")[0][:12]):
        go(*override.split())
    assert not (files / "results").exists()


def test_a_test_of_train_has_room_for_pairs_that_training_skips(go, files, untrained):
    for split in ("train", "validation", "test"):
        (files / f"{split}.tsv").write_text(
            "a b\tc d\n" * 9 + ("a" * 30 + "\tb\n") * (split == "train")
        )
    with pytest.raises(UserError, match="batch.eval_tokens"):
        go("test_splits=[train]", "batch.max_length=20", "batch.eval_tokens=15")


@pytest.mark.parametrize("change", ["groups", "test file", "metric"])
def test_what_only_a_test_reads_trains_nothing_anew(go, files, change, monkeypatch):
    first = go()
    monkeypatch.setattr(Training, "training_step", None)
    if change == "groups":
        groups_of(files, 40)
    if change == "test file":
        (files / "test.tsv").write_text("one line\teine Zeile\nand another\tund noch eine\n")
    second = go(*(["metric=exact_match"] if change == "metric" else []))
    assert second["training"] == first["training"]
    assert second["identity"] != first["identity"]
    assert (second["trained"], second["reused"]) == (False, False)
    statistics = kept(second, "test")
    assert len(statistics["bleu"]) == (2 if change == "test file" else 40)
    assert ("groups" in statistics) == (change == "groups")
    assert go(*(["metric=exact_match"] if change == "metric" else []))["reused"]


def test_files_that_change_while_a_run_trains_are_named(go, files, monkeypatch):
    def change(self, trainer=None):
        (files / "test.tsv").write_text("another\tanderes\n")

    monkeypatch.setattr(Training, "on_train_end", change, raising=False)
    with pytest.raises(UserError, match="test"):
        go()
    monkeypatch.setattr(Training, "training_step", None)
    result = go()
    assert not result["trained"]
    assert len(kept(result, "test")["bleu"]) == 1

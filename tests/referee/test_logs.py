"""Logs of which several folders are one run: of programs that were started several times, wrote
several files, or were killed."""

import math

import numpy as np
import pytest
from pytorch_lightning.loggers import CSVLogger, TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

import ablate
from ablate.errors import UserError
from ablate.evidence.sources import read
from ablate.referee.runs import numbers, texts


def column(source, name):
    return numbers(source.frame, name)


def names(source, name):
    return [*texts(source.frame, name).unique()]


@pytest.mark.parametrize("order", [1, -1])  # the names of the files may have any order
def test_a_program_that_was_started_again_replaces_its_later_steps(write_events, tmp_path, order):
    first = [("val/loss", step, 10 - step) for step in range(10)]
    second = [("val/loss", step, 20 - step) for step in range(4, 7)]
    for began, points in [(100, first), (900, second)][::order]:
        write_events(tmp_path / "a", began, points)
    table = read(tmp_path, ["_step"])
    assert column(table, "val/loss").tolist() == [10, 9, 8, 7, 16, 15, 14]
    table = read(tmp_path)
    assert column(table, "val/loss").tolist() == [14]
    assert column(table, "_started").tolist() == [100]


def test_what_tensorboard_drops_after_a_restart_does_not_count(tmp_path):
    """With purge_step, a restart drops later steps of all tags, also of those it never writes."""
    for seed, shift in enumerate((0.0, 0.1)):
        folder = tmp_path / f"s{seed}"
        with SummaryWriter(folder) as writer:
            for step in range(0, 100, 10):
                writer.add_scalar("val/loss", 1.0 - step / 100 + shift, step)
            writer.add_scalar("test/loss", 0.1, 90)
        with SummaryWriter(folder, purge_step=50, filename_suffix=".again") as writer:
            writer.add_scalar("val/loss", 2.0 + shift, 60)
        reader = EventAccumulator(str(folder), {"scalars": 0, "tensors": 0}).Reload()
        assert [event.step for event in reader.Scalars("val/loss")] == [0, 10, 20, 30, 40, 60]
    table = read(tmp_path)
    assert column(table, "val/loss").tolist() == pytest.approx([2.0, 2.1])
    assert "test/loss" not in table.frame
    steps = column(read(tmp_path, ["_step"]), "_step")
    assert sorted({*steps}) == [0, 10, 20, 30, 40, 60]


def lightning_log(kind, folder, version, points, **settings):
    """Write a folder of Lightning's logger; `points` has a metric, a step and a value for each."""
    logger = kind(folder, name="relu", version=version)
    logger.log_hyperparams({"lr": 0.1, **settings})
    for name, step, number in points:
        logger.log_metrics({name: number}, step)
    logger.save()
    logger.finalize("success")


def values_of(folder, kind, name="val_loss"):
    by_step = read(folder, ["step" if kind is CSVLogger else "_step"])
    last = read(folder)
    assert names(by_step, "run") == names(last, "run")
    return column(last, name).tolist(), last.notes


@pytest.mark.parametrize("kind", [CSVLogger, TensorBoardLogger])
def test_the_folders_of_a_resumed_run_of_lightning_are_one_run(tmp_path, kind):
    for version in range(3):
        steps = range(0, 100 if version < 2 else 60, 10)
        points = [("val_loss", s, 9.0 - s / 20 + version) for s in steps]
        lightning_log(kind, tmp_path, version, points)
    lightning_log(kind, tmp_path, 3, [("val_loss", s, 1.0) for s in range(50, 100, 10)])
    lightning_log(kind, tmp_path, 4, [("test_loss", 90, 0.5)])
    values, notes = values_of(tmp_path, kind)
    assert values == pytest.approx([4.5, 5.5, 1.0])
    assert len(notes) == 2 and all("continuation of relu/version_2" in note for note in notes)
    tests = values_of(tmp_path, kind, "test_loss")[0]
    assert tests[2] == 0.5 and [*map(math.isnan, tests)] == [True, True, False]


@pytest.mark.parametrize("kind", [CSVLogger, TensorBoardLogger])
def test_runs_of_their_own_stay_apart(tmp_path, kind):
    for version, (first, seed) in enumerate([(0, 0), (0, 0), (50, 1)]):
        points = [("val_loss", s, 1.0 + version) for s in range(first, 100, 10)]
        lightning_log(kind, tmp_path, version, points, seed=seed)
    assert values_of(tmp_path, kind) == ([1.0, 2.0, 3.0], [])


def test_folders_within_a_run_are_runs_if_they_have_the_metric(write_events, tmp_path):
    for seed in range(2):
        write_events(tmp_path / f"s{seed}", 100, [("loss", 0, 1.0), ("x", 0, 1.0)])
        write_events(tmp_path / f"s{seed}" / "1700.5", 100, [("hparam/acc", 0, 1.0)])
    write_events(tmp_path / "s0" / "val", 100, [("loss", 0, 2.0)])
    write_events(tmp_path / "crashed", 100, [("x", 0, 1.0)])
    table = read(tmp_path, ["loss", "folder_1"])
    assert sorted(names(table, "run")) == ["crashed", "s0", "s0/val", "s1"]
    assert table.notes[0].endswith("have no value of loss: 2.")


ASKED = {"arm": "folder_1", "better": "lower", "baseline": "relu"}


def mean_of_relu(verdict):
    (arm,) = (arm for arm in verdict["arms"] if arm["levels"]["folder_1"] == "relu")
    return arm["metrics"]["result"]["mean"]


@pytest.fixture(params=["validation", "test"])
def keras(request, write_events, tmp_path):
    """Logs of Keras: the folders `train` and `validation` in the folder of each run."""
    for place, arm in enumerate(("relu", "gelu")):
        for seed in range(3):
            run = tmp_path / arm / f"s{seed}"
            for shift, split in enumerate(("train", request.param)):
                losses = [3 - 0.1 * e - place + 0.01 * seed + 10 * shift for e in range(4)]
                points = [("epoch_loss", epoch, loss) for epoch, loss in enumerate(losses)]
                if shift:
                    points += [("evaluation_loss_vs_iterations", 900, losses[-1])]
                write_events(run / split, 100 + shift, points)
    return tmp_path, request.param


def test_the_folders_of_keras_for_two_data_sets_are_one_run(keras):
    root, split = keras
    for more in ({}, {"run": "run", "step": "_step"}):
        verdict = ablate.compare(root, metric=f"{split}/epoch_loss", **ASKED, **more).to_dict()
        assert verdict["claims"][0]["counts"] == [3, 3]
        assert mean_of_relu(verdict) == pytest.approx(12.71)
    table = read(root, ["_step"])
    assert names(table, "run")[0] == "gelu/s0"
    assert "folder_3" not in table.frame
    with pytest.raises(UserError, match=f"{split}/epoch_loss"):
        ablate.compare(root, metric="epoch_loss", **ASKED)


def test_the_folders_of_add_scalars_are_parts_of_their_run(tmp_path):
    for seed in range(2):
        with SummaryWriter(tmp_path / f"s{seed}") as writer:
            for step in range(3):
                writer.add_scalar("lr", 0.1, step)
                writer.add_scalars("val/loss", {"greedy": 9.0 - step, "beam": 8.0 - step}, step)
    table = read(tmp_path, ["val_loss_beam/val/loss"])
    assert names(table, "run") == ["s0", "s1"]
    assert column(table, "val_loss_beam/val/loss").tolist() == [6.0, 6.0]
    assert column(table, "val_loss_greedy/val/loss").tolist() == [7.0, 7.0]
    assert column(table, "lr").tolist() == pytest.approx([0.1, 0.1])
    table = read(tmp_path, ["val/loss", "folder_2"])
    values = column(table, "val/loss")
    assert sorted(values[np.isfinite(values)]) == [6.0, 6.0, 7.0, 7.0]


def test_a_hyperparameter_and_a_metric_of_one_name_are_two_columns(tmp_path):
    for seed, crashed in enumerate((False, True)):
        logger = CSVLogger(tmp_path, name="relu", version=seed)
        logger.log_hyperparams({"loss": 4.0, "run": "mine", "lr": 0.1, "optim": {"loss": 1}})
        logger.log_metrics({"acc": 0.5}, 0)
        if not crashed:
            logger.log_metrics({"loss": 2.5}, 1)
        logger.save()
    for wanted in ([], ["step"]):
        table = read(tmp_path, wanted)
        values = column(table, "loss")
        assert values[np.isfinite(values)].tolist() == [2.5]
        assert {*column(table, "hparams.loss")} == {4.0}
        assert {*column(table, "lr")} == {0.1}
        assert names(table, "run") == ["relu/version_0", "relu/version_1"]
        assert names(table, "hparams.run") == ["mine"]
        assert {*column(table, "optim.loss")} == {1.0}

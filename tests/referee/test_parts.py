"""Logs of which several folders are one run, and logs with two columns of one name."""

import numpy as np
import pytest
from pytorch_lightning.loggers import CSVLogger
from torch.utils.tensorboard import SummaryWriter

import ablate
from ablate.errors import UserError
from ablate.evidence.sources import read
from ablate.referee.runs import numbers, texts

ASKED = {"arm": "folder_1", "better": "lower", "baseline": "relu"}


def column(source, name):
    return numbers(source.frame, name)


def names(source, name):
    return [*texts(source.frame, name).unique()]


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

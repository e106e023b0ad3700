"""Callbacks, metrics and settings of the trainer that the user brings."""

from pathlib import Path

import pytest
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger

import ablate
from ablate.errors import UserError
from ablate.train.resolve import resolve
from ablate.train.run import run


@pytest.fixture
def go(small, compose):
    return lambda *overrides: run(resolve(compose(*small, "search=greedy", *overrides)))


class Counts(Callback):
    """Logs the number of training steps."""

    def on_validation_epoch_end(self, trainer, pl_module):
        pl_module.log("mine/steps", float(trainer.global_step))


def test_early_stopping_on_the_metric_of_an_own_callback(go):
    mine = f"+callbacks.mine._target_={__name__}.Counts"
    stops = [f"callbacks.early_stopping.{word}" for word in ("monitor=mine/steps", "patience=1")]
    theirs = ("callbacks=[early_stopping,lr_monitor]", "trainer.log_every_n_steps=1")
    result = go(*theirs, mine, *stops, "budget.steps=8")
    assert result["metrics"]["steps"] == 4  # the number is larger at the second validation
    log = Path(result["folder"], "metrics.jsonl").read_text()
    assert '"mine/steps": 4.0' in log and "lr-Adam" in log


class Prints(Logger):
    """A logger without a folder."""

    name, version = "prints", 0

    def __init__(self, mark: str):
        super().__init__()
        self.mark = mark

    def log_hyperparams(self, params):
        pass

    def log_metrics(self, metrics, step=None):
        print(self.mark, *metrics)


def test_several_loggers_of_lightning_and_of_the_user(go, tmp_path, capsys):
    prints = [f"+logger.prints.{word}" for word in (f"_target_={__name__}.Prints", "mark=logged")]
    target = "_target_=pytorch_lightning.loggers.CSVLogger"
    elsewhere = [f"+logger.two.{word}" for word in (target, f"save_dir={tmp_path / 'logs'}")]
    result = go("logger=csv", *prints, *elsewhere)
    for folder in (Path(result["folder"]), tmp_path / "logs"):  # a folder that is named is used
        (table,) = folder.rglob("metrics.csv")
        assert "val/nll" in table.read_text()
    printed = capsys.readouterr()
    assert "logged val/nll" in printed.out and "warning" not in printed.err


SWA = "_target_=pytorch_lightning.callbacks.StochasticWeightAveraging"


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["+callbacks.mine._target_=os.getcwd"], "callbacks.mine._target_=os.getcwd"),
        (["metric=exact_match", "model=decoder_only", "task=language_model"], "metric.exact_match"),
        ([f"+callbacks.mean.{word}" for word in (SWA, "swa_lrs=0.1")], "callbacks.mean"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(compose, small, tmp_path, words, key):
    with pytest.raises(UserError, match=key):
        run(resolve(compose(*small, *words)))
    assert not (tmp_path / "results").exists()


def test_a_model_with_an_option_of_a_folder_of_the_user(tmp_path):
    option = tmp_path / "model" / "position" / "mine.yaml"
    option.parent.mkdir(parents=True)
    target = "_target_: ablate.model.position.added.Learned"
    option.write_text(f"{target}\n_partial_: true\nmax_length: 9\n")
    model = ablate.build_model("model/position=mine", "model=micro", config_dir=str(tmp_path))
    assert any(parameter.shape[:1] == (9,) for parameter in model.parameters())

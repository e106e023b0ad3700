"""A logger that fails costs its log and one warning, never the run."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from omegaconf import OmegaConf, open_dict
from pytorch_lightning.loggers.logger import Logger

from ablate.train.resolve import resolve
from ablate.train.run import run
from ablate.train.tracking import GuardedLogger

CURVES = "val/nll"


class Broken(Logger):
    """A logger whose `at` raises; everything else works."""

    name, version = "broken", 0

    def __init__(self, save_dir, at):
        self.at = at
        self._raise_at("init")

    def _raise_at(self, name):
        if name == self.at:
            raise ConnectionError(f"broken {name}")
        return self

    @property
    def experiment(self):
        return self._raise_at("experiment")

    def log_metrics(self, metrics, step=None):
        self._raise_at("log_metrics")

    def log_hyperparams(self, params):
        self._raise_at("log_hyperparams")

    def save(self):
        self._raise_at("save")

    def finalize(self, status):
        self._raise_at("finalize")


METHODS = ("init", "experiment", "log_metrics", "save", "finalize")


@pytest.fixture
def go(small, compose, capfd):
    """Run with extra overrides and changes of the node `logger`; return result and warnings."""

    def went(*overrides, loggers=None):
        config = compose(*small, "search=greedy", *overrides)
        if loggers:
            with open_dict(config):
                config.logger = OmegaConf.merge(config.logger or {}, loggers)
        result = run(resolve(config))
        error = capfd.readouterr().err
        return result, [line for line in error.splitlines() if line.startswith("warning:")]

    return went


def measurements(folder):
    """What the record has of validation, without times."""
    text = (Path(folder) / "metrics.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    return [(line["step"], line[CURVES]) for line in lines if CURVES in line]


def test_a_logger_that_raises_at_any_method_is_one_warning(go):
    target = f"{__name__}.{Broken.__name__}"
    nodes = {at: {"_target_": target, "_partial_": True, "at": at} for at in METHODS}
    whole, _ = go("paths.results=results")
    result, warnings = go(loggers=nodes)
    assert result["status"] == whole["status"] != "failed"
    assert measurements(result["folder"]) == measurements(whole["folder"])
    assert sorted(f"logger.{at} (Broken)" in line for at in METHODS for line in warnings) == sorted(
        [True] * len(METHODS) + [False] * len(METHODS) * (len(METHODS) - 1)
    )


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["log_metrics", "end"])
def test_the_background_process_of_wandb_may_be_killed(go, monkeypatch, moment):
    from ablate.wandb.logger import WandbRun

    real = getattr(WandbRun, moment)

    def killed(self, *args, **kwargs):
        for process in children("wandb-core"):
            os.kill(process, signal.SIGKILL)
            os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(WandbRun, moment, killed)
    result, warnings = go("logger=wandb", "logger.mode=offline")
    assert len(warnings) == 1
    assert result["status"] in ("finished", "collapsed")
    assert [step for step, _ in measurements(result["folder"])] == [2, 4]
    monkeypatch.undo()
    _, warnings = go("logger=wandb", "logger.mode=offline", "probe=parameter_count")  # a new one
    assert not warnings


def children(name):
    """Numbers of the processes of this name that this process has started."""
    command = ["pgrep", "-P", str(os.getpid()), name]
    return [
        int(line) for line in subprocess.run(command, capture_output=True, text=True).stdout.split()
    ]


class Leaving(Broken):
    """A logger of which saving raises an exception that is no Exception."""

    def save(self):
        raise self.at


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143)])
def test_a_signal_while_a_logger_works_ends_the_run(error):
    guarded = GuardedLogger("mine", lambda: Leaving("", error), [].append)
    with pytest.raises(type(error)):
        guarded.save()


@pytest.mark.parametrize("at", ["init", pytest.param("log_metrics", marks=pytest.mark.slow)])
def test_the_end_of_a_sweep_names_a_failed_logger_once(small, command, here, at, tmp_path):
    target = f"+logger.mine={{_target_:{__name__}.{Broken.__name__},_partial_:true,at:{at}}}"
    words = ("logger=csv", target, "search=greedy", "budget.steps=2", "seed=1,2", "-m")
    status, out, err = command(*small, *words)
    assert status == 0, err
    (line,) = [line for line in out.splitlines() if line.startswith("warning: in ")]
    assert "in 2 of 2 runs logger.mine (Broken) failed" in line
    assert len([*tmp_path.glob("results/sweeps/*/*/logged/*seed [12]/csv/*/hparams.yaml")]) == 2

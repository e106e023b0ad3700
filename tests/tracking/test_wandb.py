"""What W&B has of a run, read back by W&B's own reader."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import ablate.train.run
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ("attention/encoder_self", "attention/decoder_self", "attention/decoder_cross")
TABLE = "val/translations"


@pytest.fixture
def go(small, compose):
    """Run offline with extra overrides; return the result and the record's folder."""

    def went(*overrides):
        settings = ("search=greedy", "logger=wandb", "logger.mode=offline", *overrides)
        config = compose(*small, *settings)
        result = run(resolve(config))
        return result, folder_of(config, result)

    return went


def folder_of(config, result):
    return Path(config.paths.results) / "runs" / result["training"]


@pytest.mark.slow
def test_a_run_from_the_command_line(small, tmp_path, summed_up, recorded):
    """Nobody is logged in, nobody can be asked, and another run's names are around."""
    words = [*small, "logger=wandb", "+experiment=preln_vs_postln"]
    foreign = {"WANDB_RUN_ID": "other", "WANDB_JOB_TYPE": "other", "WANDB_SWEEP_ID": "other"}
    env = {**os.environ, **foreign, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    reading, writing = os.pipe()
    os.close(writing)
    command = [sys.executable, "-m", "ablate", *words]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, stdin=reading, capture_output=True, text=True
    )
    os.close(reading)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    stored = summed_up(folder)
    assert done.stdout.count("wandb sync") == 1
    assert f"wandb sync {stored['files'].parents[2]}" in done.stdout
    assert "wandb:" not in done.stdout + done.stderr  # none of its own lines
    assert not (tmp_path / "wandb").exists()
    assert (stored["state"], stored["exit_code"]) == ("finished", 0)
    (tested,) = (folder / "tests").iterdir()
    assert (stored["run_id"], stored["name"]) == (tested.name, "Post-LN, warm-up, seed 1")
    assert {"preln_better_without_warmup", "preln_vs_postln_quality"} <= set(stored["tags"])
    (started,) = recorded(folder)["run"]
    assert (started["run_group"], started["job_type"]) == ("preln_vs_postln", "post_ln noam")
    config = stored["config"]
    assert {"model/residual", "schedule", "arm", "seed", "config", "record"} == config.keys() - {
        "_wandb"
    }
    assert (config["model/residual"], config["schedule"]) == ("post_ln", "noam")
    record = config["record"]
    assert record["choices"]["model/position"] == "sinusoidal"
    assert config["config"]["model"]["d_model"] == 16
    assert (record["identity"], record["training"]) == (tested.name, folder.name)


def test_metrics_samples_and_pictures(go, summed_up, recorded):
    few = ("model.n_heads=1", "logger.samples=3", "trainer.log_every_n_steps=2")
    result, folder = go("model/position=learned", *few)
    stored = summed_up(folder)
    history = [record["item"] for record in recorded(folder)["history"]]
    _metrics(result, stored["summary"], history)
    _samples(stored["files"], history)
    for name in (*PICTURES, "position"):
        picture = Image.open(stored["files"] / stored["summary"][name]["path"])
        assert len(np.unique(np.asarray(picture).reshape(-1, 3), axis=0)) > 20


def _metrics(result, summary, history):
    for key in ("status", "ended", "wall_seconds"):
        assert summary[key] == result[key]
    for name, value in result["metrics"].items():
        assert summary[name] == pytest.approx(value, rel=1e-6)
    assert not [key for key in summary if key.startswith("result/")]
    logged = [row["val/nll"] for row in history if "val/nll" in row]
    assert len(logged) == 2  # the last validation is that of the tested weights
    rates = [row["train/lr"] for row in history if "train/lr" in row]
    assert rates and max(rates) <= 0.005
    assert all(row["train/tokens_per_second"] > 0 for row in history if "train/lr" in row)


def _samples(files, history):
    paths = [row[f"{TABLE}.path"] for row in history if f"{TABLE}.path" in row]
    tables = [json.loads((files / path).read_text()) for path in paths]
    assert len(tables) == 2
    for table in tables:
        assert table["columns"] == ["line", "source", "reference", "hypothesis"]
        assert [row[:3] for row in table["data"]] == [row[:3] for row in tables[0]["data"]]
        assert [row[0] for row in table["data"]] == [0, 1, 2]


@pytest.mark.slow
def test_a_run_that_goes_on_is_one_run_with_all_of_its_history(go, recorded, monkeypatch, tmp_path):
    step = Training.on_before_optimizer_step

    def broken(self, optimizer):
        if self.global_step == 3:
            raise RuntimeError("no luck")
        step(self, optimizer)

    monkeypatch.setattr(Training, "on_before_optimizer_step", broken)
    with pytest.raises(RuntimeError, match="no luck"):
        go()
    monkeypatch.undo()
    result, folder = go()
    assert result["status"] != "failed"
    history = recorded(folder)  # of the only one
    assert [step for step, _ in _validations(history)] == [2, 4]
    assert _validations(history) == _validations_of_the_record(folder)


def _validations(records):
    rows = [record["item"] for record in records["history"]]
    return [(row["trainer/global_step"], row["val/nll"]) for row in rows if "val/nll" in row]


def _validations_of_the_record(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [(row["step"], row["val/nll"]) for row in rows if "val/nll" in row]


def test_a_run_that_raises_has_failed(go, summed_up, monkeypatch, tmp_path):
    def broken(*args, **kwargs):
        raise SystemExit(143)

    monkeypatch.setattr(ablate.train.run, "train", broken)
    with pytest.raises(SystemExit):
        go()
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    stored = summed_up(folder)
    assert (stored["exit_code"], stored["summary"]["status"]) == (1, "failed")
    assert stored["summary"]["error"] == "SystemExit: 143"


def test_online_that_is_not_reached_goes_on_offline(go, monkeypatch, capsys, summed_up):
    import wandb

    monkeypatch.setattr("ablate.wandb.connection.settle", lambda wanted: "online")
    real = wandb.init

    def init(**kwargs):
        if kwargs["settings"].mode == "online":
            raise wandb.errors.CommError("nobody there")
        return real(**kwargs)

    monkeypatch.setattr(wandb, "init", init)
    monkeypatch.setattr("ablate.wandb.connection.has_key", lambda: True)
    _, folder = go("logger.mode=online", "probe=parameter_count")
    assert "nobody there" in capsys.readouterr().out
    assert summed_up(folder)["state"] == "finished"


def test_every_logger_counts_the_steps_of_the_record(small, compose):
    overrides = ("logger=[csv,tensorboard]", "trainer.log_every_n_steps=1", "search=greedy")
    config = compose(*small, *overrides)
    folder = folder_of(config, run(resolve(config)))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    (table,) = folder.glob("csv/*/metrics.csv")
    table_rows = csv.DictReader(table.read_text().splitlines())
    rows = [row for row in table_rows if not row["test/bleu"]]
    assert [int(row["step"]) for row in rows] == [line["step"] for line in lines]
    events = EventAccumulator(str(folder / "tensorboard/version_0")).Reload()
    for name in ("train/nll", "val/nll"):
        steps = [line["step"] for line in lines if name in line]
        assert steps and [event.step for event in events.Scalars(name)] == steps


def test_the_users_words_reach_wandb(go, summed_up, recorded, monkeypatch):
    environment = {"WANDB_PROJECT": "theirs", "WANDB_TAGS": "a, b", "WANDB_RUN_GROUP": "other"}
    for name, value in {**environment, "WANDB_NOTES": "why", "WANDB_ENTITY": "team"}.items():
        monkeypatch.setenv(name, value)
    _, folder = go("probe=parameter_count", "logger.name=mine", "logger.group=own")
    (started,) = recorded(folder)["run"]
    assert (started["project"], started["entity"], started["notes"]) == ("theirs", "team", "why")
    assert (started["display_name"], started["run_group"]) == ("mine", "own")  # said last, wins
    assert summed_up(folder)["tags"] == ["a", "b"]

"""What W&B has of a run, read back by W&B's own reader."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ablate.run
from ablate.errors import UserError
from ablate.run import run

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ("attention/encoder_self", "attention/decoder_self", "attention/decoder_cross")


@pytest.fixture
def go(small, compose):
    """Run offline with extra overrides; return the result and the record's folder."""

    def went(*overrides):
        config = compose(*small, "logger=wandb", "logger.mode=offline", *overrides)
        found = run(config)
        return found, folder_of(config, found["identity"])

    return went


def folder_of(config, identity):
    return Path(config.paths.results) / "runs" / identity


def test_a_run_from_the_command_line(small, tmp_path, inspected):
    """Nobody is logged in, nobody can be asked, and another run's names are around."""
    command = [
        sys.executable,
        "-m",
        "ablate",
        *small,
        "logger=wandb",
        "+experiment=preln_vs_postln",
    ]
    foreign = {"WANDB_RUN_ID": "other", "WANDB_RUN_GROUP": "other", "WANDB_SWEEP_ID": "other"}
    env = {**os.environ, **foreign, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    reading, writing = os.pipe()
    os.close(writing)
    done = subprocess.run(
        command, cwd=tmp_path, env=env, stdin=reading, capture_output=True, text=True
    )
    os.close(reading)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    assert done.stdout.count("wandb sync") == 1
    assert "wandb:" not in done.stdout + done.stderr  # none of its own lines
    assert "anonymous" not in done.stderr
    stored = inspected(folder)
    assert f"wandb sync {stored['files'].parent}" in done.stdout
    assert (stored["state"], stored["exit_code"]) == ("finished", 0)
    assert (stored["run_id"], stored["name"]) == (folder.name, "post_ln noam, seed 1")
    assert (stored["run_group"], stored["job_type"]) == ("preln_vs_postln", "post_ln noam")
    assert stored["tags"] == ["preln_solves_gradient_problem", "preln_vs_postln_quality"]
    config = stored["config"]
    assert config["level/model/residual"] == "post_ln"
    assert config["level/schedule"] == "noam"
    assert config["model"]["d_model"] == 16
    assert config["choices"]["model/position"] == "sinusoidal"
    assert config["identity"] == folder.name
    assert not (tmp_path / "wandb").exists()


def test_metrics_and_their_summaries(go, inspected):
    found, folder = go()
    stored = inspected(folder)
    summary = stored["summary"]
    assert summary["status"] == found["status"]
    for name, value in found["metrics"].items():
        assert summary[f"result/{name}"] == pytest.approx(value, rel=1e-6)
    logged = [row["val/nll"] for row in stored["history"] if "val/nll" in row]
    assert len(logged) == 3  # two while training, one of the tested weights
    assert summary["val/nll"]["min"] == pytest.approx(min(logged), rel=1e-6)
    assert set(summary["val/bleu"]) == set(summary["test/bleu"]) == {"max"}


def test_sample_translations_are_of_the_same_sentences_each_time(go, inspected):
    import json

    _, folder = go("logger.samples=3")
    stored = inspected(folder)
    shown = [row["val/translations"] for row in stored["history"] if "val/translations" in row]
    assert len(shown) == 3
    tables = [json.loads((stored["files"] / entry["path"]).read_text()) for entry in shown]
    for table in tables:
        assert table["columns"] == ["line", "source", "reference", "hypothesis"]
        assert [row[:3] for row in table["data"]] == [row[:3] for row in tables[0]["data"]]
        assert [row[0] for row in table["data"]] == [0, 1, 2]


def test_no_samples_no_table(go, inspected):
    _, folder = go("logger.samples=0")
    assert not any("val/translations" in row for row in inspected(folder)["history"])


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "none"])
def test_pictures_of_attention_and_of_positions(go, inspected, position):
    _, folder = go(f"model/position={position}")
    stored = inspected(folder)
    wanted = PICTURES if position == "none" else (*PICTURES, "position")
    for name in wanted:
        picture = Image.open(stored["files"] / stored["summary"][name]["path"])
        assert np.unique(np.asarray(picture).reshape(-1, 3), axis=0).shape[0] > 20
    assert ("position" in stored["summary"]) == (position != "none")


def test_two_runs_of_a_process_are_two_wandb_runs(go, inspected):
    first, first_folder = go("seed=1")
    second, second_folder = go("seed=2")
    assert inspected(first_folder)["run_id"] == first["identity"]
    assert inspected(second_folder)["run_id"] == second["identity"]


def test_a_run_that_is_repeated_keeps_its_id_and_one_folder(go, inspected):
    first, folder = go()
    again, _ = go("fresh=true")
    assert inspected(folder)["run_id"] == first["identity"] == again["identity"]


def test_a_diverged_run_is_a_result(go, inspected):
    _, folder = go("optimizer.lr=1e30", "schedule=constant")
    stored = inspected(folder)
    assert (stored["exit_code"], stored["summary"]["status"]) == (0, "diverged")


def test_a_probe_is_a_run(go, inspected):
    _, folder = go("probe=parameter_count")
    stored = inspected(folder)
    assert stored["exit_code"] == 0
    assert stored["summary"]["result/probe/block"] > 0


@pytest.mark.parametrize("error", [RuntimeError("no luck"), KeyboardInterrupt(), SystemExit(143)])
def test_a_run_that_raises_has_failed(go, inspected, small, compose, monkeypatch, tmp_path, error):
    def broken(*args, **kwargs):
        raise error

    monkeypatch.setattr(ablate.run, "test", broken)
    with pytest.raises(type(error)):
        go()
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    stored = inspected(folder)
    assert (stored["exit_code"], stored["summary"]["status"]) == (1, "failed")
    assert type(error).__name__ in stored["summary"]["error"]
    assert any("val/nll" in row for row in stored["history"])


@pytest.mark.parametrize("logger", ["csv", "tensorboard", "none"])
def test_other_loggers(small, compose, logger):
    config = compose(*small, f"logger={logger}")
    folder = folder_of(config, run(config)["identity"])
    written = {"csv": "**/metrics.csv", "tensorboard": "**/events.*", "none": "metrics.jsonl"}
    assert list(folder.glob(written[logger]))
    assert not (folder / "wandb").exists()


@pytest.mark.parametrize(("key", "value"), [("mode", "onlin"), ("samples", -1)])
def test_a_value_that_is_not_possible_is_named(go, key, value):
    with pytest.raises(UserError, match=f"logger.{key}={value}"):
        go(f"logger.{key}={value}")

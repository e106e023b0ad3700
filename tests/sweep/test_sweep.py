"""Sweeps as a user starts them: from the command line; the slow ones in processes of their own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ablate.record.results import read_outcome
from ablate.train.resolve import resolve
from ablate.train.run import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def work(tmp_path):
    """An empty folder."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def ablate(small, work, command, here, monkeypatch):
    """Call the command in an empty folder; its runs happen in this process."""

    def ran(*arguments):
        monkeypatch.chdir(work)
        status, out, err = command(*small, *arguments)
        return SimpleNamespace(returncode=status, stdout=out, stderr=err)

    return ran


@pytest.fixture
def processes(small, work):
    """Start the command in an empty folder, and its runs in processes of their own."""

    def ran(*arguments, **environment):
        command = [sys.executable, "-m", "ablate", *small, *arguments]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
        return subprocess.run(command, cwd=work, env=env, capture_output=True, text=True)

    return ran


def sweep_folder(tmp_path):
    (folder,) = (tmp_path / "results" / "sweeps").glob("*/*")
    return folder


def links(tmp_path):
    paths = sorted((sweep_folder(tmp_path) / "cells").glob("*.json"))
    return [read_outcome(path) for path in paths]


@pytest.mark.slow
def test_every_arm_gets_its_best_rate_and_old_runs_make_no_evidence(
    ablate, command, small, tmp_path
):
    arguments = (
        "+experiment=preln_vs_postln",
        "study.tune.values=[1e-6,0.01]",
        "study.tune.seeds=[9]",
        "budget.seeds=1",
        "logger=csv",
        "-m",
    )
    from ablate.evidence.outcome import value

    done = ablate(*arguments)
    logged = [file.read_text() for file in tmp_path.rglob("hparams.yaml")]
    assert sum("(tuning)" in text for text in logged) == 12 == len(logged) - 4
    assert done.returncode == 0, done.stderr
    lines = (sweep_folder(tmp_path) / "screening.jsonl").read_text().splitlines()
    screened = [json.loads(line) for line in lines]
    assert len(screened) == 12  # of two values the better one is an edge, and a third is tried
    assert not any(key.startswith("test/") for run in screened for key in run["metrics"])
    for link in links(tmp_path):
        candidates = [run for run in screened if run["levels"] == link["levels"]]
        best = min(candidates, key=lambda run: value(run, "val/nll"))
        assert link["tuned"]["value"] == best["tuned"]["value"]
    first, *_ = command("plan", *small, *arguments)[1].splitlines()
    assert "12" in re.findall(r"\d+", first)  # all of its runs are done
    shutil.rmtree(sweep_folder(tmp_path))
    done = ablate(*arguments, "study.claims.0.margin=1.5")  # the study is changed after its runs
    assert done.stderr.count("reused, ") == 16
    assert "exploratory" in done.stdout


def test_a_failed_run_does_not_stop_the_sweep(ablate, tmp_path, monkeypatch):
    import ablate.train.run as training

    train = training.train

    def fail_of_seed_0(task, *rest):
        if task.job.config.seed == 0:
            raise RuntimeError("no more memory")
        return train(task, *rest)

    monkeypatch.setattr(training, "train", fail_of_seed_0)
    done = ablate("seed=0,1", "n_jobs=1", "-m")
    statuses = [link["status"] for link in links(tmp_path)]
    assert statuses[0] == "failed"
    assert statuses[1] in ("finished", "collapsed")
    assert done.returncode == 1
    assert "no more memory" in done.stdout


def test_one_bad_cell_ends_the_sweep_before_the_first_run(ablate, tmp_path):
    done = ablate("model.n_heads=2,3", "seed=0", "-m")
    assert done.returncode == 2
    assert "model.n_heads" in done.stderr
    assert "cell 1" in done.stderr
    assert not (tmp_path / "results" / "runs").exists()


@pytest.mark.slow
def test_two_cells_on_two_devices_each(processes, small, compose, tmp_path):
    """A batch may be the whole split, so that one of the devices has nothing to score."""
    # without a step the weights are those of the seed, whatever trains them
    words = ("seed=0", "optimizer.lr=0.0", "batch.eval_tokens=64,8192", "n_jobs=1")
    devices = ("trainer=ddp", "trainer.devices=2", "trainer.accelerator=cpu")
    done = processes(*words, *devices, "logger=wandb", "-m", WANDB_MODE="offline")
    assert done.returncode == 0, done.stderr
    entries = links(tmp_path)
    assert [link["status"] in ("finished", "collapsed") for link in entries] == [True, True]
    runs = tmp_path / "results" / "runs"
    assert len(list(runs.iterdir())) == 2
    assert len(list(runs.glob("*/wandb/offline-run-*"))) == 2
    assert list((tmp_path / "work").iterdir()) == []
    single = run(resolve(compose(*small, *words[:2], "name=single")))
    for link in entries:
        _bleu_is_that_of_the_hypotheses(link)
        # gradients differ: two devices take another first batch
        assert _scores(link) == pytest.approx(_scores(single))


def _scores(result):
    return {k: v for k, v in result["metrics"].items() if k.startswith(("val/", "test/"))}


def _bleu_is_that_of_the_hypotheses(link):
    import sacrebleu
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    references = (
        instantiate(OmegaConf.load(Path(link["folder"]) / "config.yaml").data).read("test").tgt
    )
    hypotheses = (Path(link["evaluation"]) / "test.hyp").read_text().split("\n")[:-1]
    assert len(hypotheses) == len(references)
    assert sacrebleu.corpus_bleu(hypotheses, [references]).score == link["metrics"]["test/bleu"]

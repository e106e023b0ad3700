"""One run, from config to record."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from ablate.evidence.outcome import UNSTABLE
from ablate.sweep.preflight import KNOWN, metric_names
from ablate.train.job import build_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.run import run

from .conftest import VOLATILE

LOGGED = ("train/objective", "train/nll", "train/gradient_norm")


def numbers(result):
    return {key: value for key, value in result.items() if key not in VOLATILE}


@pytest.fixture
def go(small, compose):
    """Run with extra overrides and return the result and the record's folder."""

    def went(*overrides):
        config = compose(*small, *overrides)
        result = run(resolve(config))
        return result, result["folder"]

    return went


def test_a_run_leaves_a_whole_record(done, small, compose):
    result, results = done
    folder, tests = Path(result["folder"]), Path(result["evaluation"])
    assert folder == results / "runs" / result["training"]
    assert tests == folder / "tests" / result["identity"]
    assert {p.name for p in folder.iterdir()} == {
        *("config.yaml", "identity.json", "environment.json", "metrics.jsonl", "weights.pt"),
        *("tokenizer", "tests", "result.json"),  # and no checkpoints any more
    }
    files = {"identity.json", "test.hyp", "test.stats.npz", "result.json"}
    assert {p.name for p in tests.iterdir()} == files
    assert json.loads((folder / "result.json").read_text())["status"] == result["status"]
    assert result["status"] in ("finished", "collapsed")
    assert result["signatures"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp")
    assert "tok:moses-" in result["signatures"]["bleu_tokenised"]
    assert OmegaConf.load(folder / "config.yaml").model.d_model == 16
    assert json.loads((tests / "identity.json").read_text())["config"]["search.size"] == 5
    job = resolve(compose(*small))
    declared = metric_names(job, build_model(job, prepare_data(job)))
    assert result["metrics"].keys() <= declared  # by which claims are checked
    comparisons = {"test/changed", "test/skill", "test/decoder_passes"}  # need another run
    assert declared - result["metrics"].keys() == {*comparisons, *UNSTABLE, *KNOWN}
    lines = (tests / "test.hyp").read_text().split("\n")[:-1]
    assert len(lines) == len(np.load(tests / "test.stats.npz")["bleu"]) == 20


def test_loaded_weights_are_validated_again(go):
    result, folder = go("checkpoint.tested=best", "fresh=true")
    lines = [json.loads(x) for x in Path(folder, "metrics.jsonl").read_text().splitlines()]
    scores = [line["val/nll"] for line in lines if "val/nll" in line]
    assert result["metrics"]["val/nll"] == scores[-1] == min(scores[:-1])
    assert len(scores) == 3  # after steps 2 and 4, and of the best weights


@pytest.mark.parametrize("accumulated", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_every_second_step_logs_what_it_logs_among_all(go, accumulated):
    def logged(every):
        batches = f"trainer.accumulate_grad_batches={accumulated}"
        _, folder = go(f"trainer.log_every_n_steps={every}", batches, "fresh=true")
        lines = map(json.loads, Path(folder, "metrics.jsonl").read_text().splitlines())
        return {x["step"]: [x[name] for name in LOGGED] for x in lines if LOGGED[0] in x}

    every_step = logged(1)
    assert list(every_step) == [1, 2, 3, 4]
    assert logged(2) == {step: every_step[step] for step in (2, 4)}


def test_the_same_command_gives_the_same_numbers_bit_for_bit(go, done, capsys):
    first, _ = done
    weights = torch.load(f"{first['folder']}/weights.pt", weights_only=True)
    torch.manual_seed(99)  # what was drawn before a run must not matter
    second, folder = go()
    again = torch.load(f"{folder}/weights.pt", weights_only=True)
    assert "no gradient" not in capsys.readouterr().out
    assert numbers(first) == numbers(second)
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_a_finished_run_is_reused_and_fresh_runs_it_again(go, kept):
    assert (kept["reused"], kept["trained"]) == (False, True)
    second, _ = go("name=another_experiment", "n_jobs=7")
    assert (second["reused"], second["trained"]) == (True, False)
    assert {**second, "reused": False, "trained": True} == kept
    assert not go("fresh=true")[0]["reused"]


AT_ITS_END = """
import atexit, sys
heavy = {"torch", "pytorch_lightning", "wandb", "scipy", "matplotlib"}
atexit.register(lambda: print("imported:", *heavy & sys.modules.keys()))
from ablate.__main__ import main
main()
"""


def test_a_finished_run_is_reused_without_slow_imports(kept, small):
    command = [sys.executable, "-c", AT_ITS_END, *small]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert f"{kept['metrics']['test/nll']:.4f}" in done.stdout
    assert "reused" in done.stdout
    assert done.stdout.endswith("imported:\n")


def test_the_average_is_the_mean_of_the_last_weights():
    from ablate.train.checkpoints import average

    weights = [{"w": torch.tensor([1.0, 3.0]), "n": torch.tensor(1)}]
    weights += [{"w": torch.tensor([2.0, 5.0]), "n": torch.tensor(2)}]
    mean = average(weights)
    assert torch.equal(mean["w"], torch.tensor([1.5, 4.0]))
    assert mean["n"] == 2


def test_a_run_whose_gradient_is_not_finite_is_diverged(go):
    result, _ = go("optimizer.lr=1e30", "schedule=constant", "model/norm=layer_norm")
    assert result["status"] == "diverged"
    assert result["metrics"]["unigram_nll"] > 0
    assert result["metrics"]["steps"] < 4


def test_a_run_that_is_not_better_than_unigrams_is_collapsed_unless_it_had_no_time(go, monkeypatch):
    words = ("optimizer.lr=0.0", "search=greedy")
    assert go(*words)[0]["status"] == "finished"
    monkeypatch.setattr("ablate.train.run.SHORT", 4)
    result, _ = go(*words, "fresh=true")
    assert result["status"] == "collapsed"
    assert result["metrics"]["val/nll"] >= result["metrics"]["unigram_nll"]

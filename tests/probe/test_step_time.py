"""Times of a training step and its parts."""

import os
import subprocess
import sys
import time

import pytest
import torch

from ablate.errors import UserError
from ablate.probe.others import STAT, Others
from ablate.probe.step_time import WARM_UP, loss

SMALL = dict(batch_size=4, src_length=5, tgt_length=6, repeats=9)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_seconds_and_parameters(measure, finite, precision):
    many = SMALL | dict(repeats=51)  # a median that a burst of other work does not move
    found = measure("step_time", **many, precision=precision)
    assert set(found) - {"others"} == {"step", "forward", "attention", "parameters"}
    assert finite(found)
    assert found["step"] > found["forward"] > 0
    assert found["step"] > found["attention"] > 0
    assert found["parameters"] > 1000


def test_the_forward_pass_alone_has_neither_dropout_nor_gradient(measure, monkeypatch):
    seen = []

    def spy(model, *ids):
        seen.append((model.training, torch.is_grad_enabled()))
        return loss(model, *ids)

    monkeypatch.setattr("ablate.probe.step_time.loss", spy)
    measure("step_time", **SMALL | dict(repeats=2))
    assert seen == [(True, True), (False, False)] * (WARM_UP + 2)  # in turn


@pytest.mark.skipif(not STAT.exists(), reason="the system does not tell")
def test_work_of_others_is_seen():
    work = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    with subprocess.Popen(work, stdout=subprocess.PIPE) as busy:
        busy.stdout.readline()
        others, until = Others(), time.perf_counter() + 1.0
        while time.perf_counter() < until:
            pass
        cores = others.cores()
        busy.kill()
    assert 0.3 < cores < os.cpu_count()


def test_others_are_unknown_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr("ablate.probe.others.STAT", tmp_path / "stat")
    assert Others().cores() is None


def test_longer_sentences_take_longer(measure):
    short = measure("step_time", **SMALL)
    larger = dict(batch_size=64, src_length=200, tgt_length=200, repeats=3)
    long = measure("step_time", **SMALL | larger)
    assert long["step"] > 2 * short["step"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (dict(batch_size=0), r"probe\.batch_size is 0: it must be at least 1"),
        (dict(repeats=0), r"probe\.repeats is 0"),
        (dict(precision="8-true"), r"probe\.precision is 8-true: allowed is 32-true, bf16-mixed"),
        (dict(accelerator="tpu"), r"probe\.accelerator is tpu: allowed is cpu, gpu"),
    ],
)
def test_bad_arguments(measure, bad, message):
    with pytest.raises(UserError, match=message):
        measure("step_time", **SMALL | bad)


def test_a_gpu_that_is_not_there(measure, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UserError, match="finds no GPU"):
        measure("step_time", **SMALL, accelerator="gpu")

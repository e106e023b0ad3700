"""Every precision that is accepted: what it trains, in which types scores are summed, what runs."""

import json
import math
from pathlib import Path

import pytest
import torch
import yaml

from ablate.config.limits import PRECISIONS
from ablate.config.precision import settle
from ablate.errors import UserError
from ablate.task.base import Evaluation
from ablate.train.resolve import resolve
from ablate.train.run import run

TASKS = {
    "translation": (),
    "language_model": ("task=language_model", "model=decoder_only"),
    "masked_language_model": ("task=masked_language_model", "model=encoder_only"),
    "denoising": ("task=denoising",),
}
TYPES = {torch.float64, torch.int64}
FEW = [("bf16-true", "translation"), ("16-true", "language_model")]
MORE = [(precision, task) for precision in PRECISIONS for task in TASKS]


@pytest.fixture
def states(monkeypatch):
    """Collect the types of every sum while it is reduced."""
    types = set()
    for kind in Evaluation.__subclasses__():
        compute = kind.compute

        def noted(self, compute=compute):
            for metric in (m for m in self.modules() if hasattr(m, "metric_state")):
                types.update(state.dtype for state in metric.metric_state.values())
            return compute(self)

        monkeypatch.setattr(kind, "compute", noted)
    return types


@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "task"),
    [
        *FEW,
        *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE if case not in FEW),
    ],
)
def test_sums_keep_their_types_under_every_precision(small, compose, states, precision, task):
    config = compose(*small, *TASKS[task], f"trainer.precision={precision}", "optimizer.eps=1e-4")
    result = run(resolve(config))
    assert result["status"] in ("finished", "collapsed")
    scores = {k: v for k, v in result["metrics"].items() if k.startswith(("val/", "test/"))}
    assert scores
    assert all(math.isfinite(value) for value in scores.values())
    assert states <= TYPES
    for name in ("val/nll", "test/nll"):
        assert float(torch.tensor(scores[name]).bfloat16()) != scores[name]
    lines = Path(result["folder"], "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    trained = [x["val/nll"] for x in map(json.loads, lines) if "val/nll" in x]
    assert trained[-1] == pytest.approx(scores["val/nll"], rel=1e-6)


def test_the_record_names_the_precision_that_ran(small, compose, capsys):
    result = run(resolve(compose(*small, "trainer.precision=16-mixed")))
    written = yaml.safe_load(Path(result["folder"], "config.yaml").read_text(encoding="utf-8"))
    assert written["trainer"]["precision"] == "bf16-mixed"
    assert "trainer.precision=16-mixed is bf16-mixed here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("accelerator", "gpu", "precision"),
    [
        *(("cpu", gpu, "bf16-mixed") for gpu in (True, False)),
        *(("auto", False, "bf16-mixed"), ("auto", True, "16-mixed"), ("gpu", True, "16-mixed")),
    ],
)
@pytest.mark.parametrize("given", ["16-mixed", "16", 16])
def test_only_a_gpu_trains_in_float16_with_scaled_losses(
    compose, monkeypatch, accelerator, gpu, precision, given
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    config = compose(f"trainer.precision={given}", f"trainer.accelerator={accelerator}")
    settle(config)
    assert config.trainer.precision == precision


@pytest.mark.parametrize(
    ("short", "whole"), [(32, "32-true"), ("bf16", "bf16-mixed"), (64, "64-true")]
)
def test_a_short_name_stands_in_the_record_as_what_it_means(compose, short, whole):
    config = compose(f"trainer.precision={short}")
    settle(config)
    assert config.trainer.precision == whole


@pytest.mark.parametrize("given", ["transformer-engine", "transformer-engine-float16", "8-true"])
def test_other_precisions_are_refused(small, compose, given):
    with pytest.raises(UserError, match=f"trainer.precision={given}"):
        run(resolve(compose(*small, f"trainer.precision={given}")))


@pytest.mark.parametrize("eps", ["1e-9", "1e-8", "2e-8"])
def test_an_eps_that_is_zero_in_float16_is_refused(small, compose, eps):
    with pytest.raises(UserError, match=r"optimizer\.eps"):
        run(resolve(compose(*small, "trainer.precision=16-true", f"optimizer.eps={eps}")))

"""Every precision that is accepted: what it trains, in which types scores are summed, what runs."""

import json
import math
from pathlib import Path

import pytest
import torch
import yaml
from pytorch_lightning.plugins.precision import MixedPrecision
from pytorch_lightning.trainer.connectors.accelerator_connector import _AcceleratorConnector

from ablate.config.settle import settle_precision
from ablate.errors import UserError
from ablate.task import Evaluation
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

TASKS = {
    "translation": (),
    "language_model": ("task=language_model", "model=decoder_only"),
    "masked_language_model": ("task=masked_language_model", "model=encoder_only"),
    "denoising": ("task=denoising",),
}
TYPES = {torch.float64, torch.int64}
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true", "64-true")


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
# every precision, and every task
@pytest.mark.parametrize(("precision", "task"), [*zip(PRECISIONS, [*TASKS, *TASKS], strict=False)])
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
    assert "trainer.precision=16-mixed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("accelerator", "gpu", "precision"),
    [
        *(("cpu", gpu, "bf16-mixed") for gpu in (True, False)),
        *(("auto", False, "bf16-mixed"), ("auto", True, "16-mixed"), ("gpu", True, "16-mixed")),
    ],
)
@pytest.mark.parametrize("given", ["16-mixed", 16])
def test_only_a_gpu_trains_in_float16_with_scaled_losses(
    compose, monkeypatch, accelerator, gpu, precision, given
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    config = compose(f"trainer.precision={given}", f"trainer.accelerator={accelerator}")
    settle_precision(config)
    assert config.trainer.precision == precision


def test_an_eps_that_is_zero_in_float16_is_refused(small, compose):
    with pytest.raises(UserError, match=r"optimizer\.eps"):
        run(resolve(compose(*small, "trainer.precision=16-true", "optimizer.eps=2e-8")))


@pytest.fixture
def scaled(small, compose, monkeypatch):
    """Train with a scaled loss, as float16 does on a GPU; products are in bfloat16."""

    def go(scale, *overrides):
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        plugin = MixedPrecision("16-mixed", "cpu", scaler=scaler)
        plugin.precision = "bf16-mixed"
        with monkeypatch.context() as patch:
            patch.setattr(_AcceleratorConnector, "_check_and_init_precision", lambda self: plugin)
            result = run(resolve(compose(*small, "trainer.log_every_n_steps=1", *overrides)))
        lines = Path(result["folder"], "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        steps = map(json.loads, lines)
        return result, [x["train/gradient_norm"] for x in steps if "train/gradient_norm" in x]

    return go


@pytest.mark.parametrize("clipped", ["norm", pytest.param("value", marks=pytest.mark.slow)])
def test_scaled_gradients_are_measured_and_clipped_without_their_scale(scaled, clipped):
    clip = ("trainer.gradient_clip_val=0.01", f"+trainer.gradient_clip_algorithm={clipped}")
    (fused, norms), (plain, expected) = (
        scaled(8.0, f"optimizer.fused={fused}", *clip) for fused in ("true", "false")
    )
    assert norms == pytest.approx(expected, rel=1e-3)
    assert fused["metrics"]["val/nll"] == pytest.approx(plain["metrics"]["val/nll"], rel=1e-4)


def test_a_scale_that_is_too_large_is_no_divergence(scaled, monkeypatch):
    factors, step = iter([math.inf]), Training.training_step

    def too_large_at_first(self, batch, batch_idx):
        return step(self, batch, batch_idx) * next(factors, 1.0)

    monkeypatch.setattr(Training, "training_step", too_large_at_first)
    result, norms = scaled(8.0)
    assert result["status"] in ("finished", "collapsed")
    assert [math.isfinite(norm) for norm in norms] == [False, True, True, True]


def test_a_gradient_that_is_not_finite_at_any_scale_is_a_divergence(scaled):
    result, norms = scaled(8.0, "optimizer.lr=1e30", "budget.steps=20")
    assert result["status"] == "diverged"
    assert len(norms) < 20

"""The gradient of a step is the mean over its batches, also of the last step of an epoch."""

import json
from pathlib import Path

import pytest
import torch

from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.run import run

# Weights stay as they begin, so that every gradient can be computed from the initial model.
STILL = (
    *("optimizer.lr=0.0", "model.dropout.rate=0.0", "loss=cross_entropy"),
    *("data.n_train=60", "batch.tokens=160", "budget.steps=5", "budget.validate_every=100"),
    *("search=greedy", "trainer.log_every_n_steps=1", "trainer.precision=32-true"),
)


def gradient_norms(config, window, most):
    """Compute the norm of the mean gradient of each window of batches, epoch after epoch."""
    job = resolve(config)
    data = prepare_data(job)
    model, loader, norms = make_model(job, data).eval(), data.train_dataloader(), []
    for epoch in range(5):
        if len(norms) >= 5:
            break
        loader.sampler.set_epoch(epoch)
        batches = list(loader)[:most]
        for start in range(0, len(batches), window):
            model.zero_grad()
            parts = batches[start : start + window]
            for batch in parts:
                real = batch.targets != 0
                logits = model.head(model(batch.inputs)[real])
                loss = torch.nn.functional.cross_entropy(logits, batch.targets[real])
                (loss / len(parts)).backward()
            gradients = [p.grad for p in model.parameters()]
            norms.append(float(torch.nn.utils.get_total_norm(gradients)))
    return norms[:5]


@pytest.mark.parametrize(
    ("window", "overrides", "most"),
    [
        (3, ("batch.bucket=false", "batch.tokens=100"), None),
        (2, ("trainer.limit_train_batches=3",), 3),
    ],
)
def test_every_step_has_the_mean_gradient_of_its_batches(small, compose, window, overrides, most):
    accumulated = f"trainer.accumulate_grad_batches={window}"
    config = compose(*small, *STILL, accumulated, *overrides)
    result = run(resolve(config.copy()))
    lines = Path(result["folder"], "metrics.jsonl").read_text().splitlines()
    logged = [line["train/gradient_norm"] for line in map(json.loads, lines) if "train/nll" in line]
    assert logged == pytest.approx(gradient_norms(config, window, most), rel=1e-4)

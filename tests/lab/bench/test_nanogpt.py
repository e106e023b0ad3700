"""The small GPT that is trained by hand, and the table beside it."""

import json
import math
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from lab.bench.nanogpt import Side, standard_error
from lab.bench.nanogpt_loop import Gpt, evaluate

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("length", [9, 16, 40])
@torch.no_grad()
def test_every_character_but_the_first_is_scored_once(length):
    torch.manual_seed(1)
    net, text = Gpt(5, layers=4, heads=4, width=8, context=8), torch.randint(5, (length,))
    total = 0.0
    for start in range(0, length - 1, 8):
        part = text[start : start + 9]
        total += float(F.cross_entropy(net(part[None, :-1])[0], part[1:], reduction="sum"))
    assert evaluate(net, text, 8) == pytest.approx(total / (length - 1), rel=1e-5)
    assert evaluate(net, text, 8) == pytest.approx(math.log(5), abs=0.1)  # as it starts


def test_the_error_of_the_difference_is_that_of_both_sides():
    hand, ours = [Side(x, 0.1, 10) for x in (1, 2, 3)], [Side(x, 0.1, 10) for x in (2, 2, 2)]
    assert standard_error(list(zip(hand, ours, strict=True))) == pytest.approx(math.sqrt(1 / 3))
    assert math.isnan(standard_error([(hand[0], ours[0])]))


def test_the_scale_of_a_gpu_drops_values_where_nanogpt_does(compose):
    dropout = compose("scale=language_gpu").model.dropout
    assert (dropout.residual, dropout.attention, dropout.embedding) == (0.2, 0.2, 0.2)
    assert dropout.feed_forward == 0  # between its two linear maps, nanoGPT has none


def test_the_page_has_the_losses_of_the_runs_on_a_gpu():
    recorded = json.loads((ROOT / "lab" / "bench" / "language_gpu.json").read_text())
    page = (ROOT / "docs" / "howto" / "language_models.md").read_text()
    lowest = [min(run["validation_nll"].values()) for run in recorded["runs"]]
    assert f"{min(lowest):.4f} to {max(lowest):.4f} nats" in page
    seconds = [run["training_seconds"] for run in recorded["runs"]]
    assert f"{min(seconds):.0f} to {max(seconds):.0f} seconds" in page

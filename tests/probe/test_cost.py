"""What works cost, counted: closed forms, and what the counter sees of memory and of dependence."""

import math
from pathlib import Path

import torch

from experiments.shared.cost.counting import counted
from experiments.shared.cost.operations import Operations
from experiments.shared.cost.seconds import Seconds
from experiments.shared.cost.works import WORKS

N, D = 64, 32
SIZES = dict(length=N, sentences=1, d_model=D, n_heads=2)


def operations(work, draws=0, longest=2):
    """Count a work; no model is asked."""
    return Operations(work=work, **SIZES, seed=0, draws=draws, longest=longest)(None)


def test_products_are_those_of_the_formulas():
    costs = {w: operations(w) for w in WORKS}
    products = {work: of["products"] for work, of in costs.items()}
    square = 4 * N**2 * D  # two products of n x n x d, a multiplication and an addition each
    assert products["explicit"] == products["flash"] == products["loop"] == square
    assert products["additive"] == square
    assert products["rest"] == 24 * N * D**2
    assert products["multi_head"] == square + 8 * N * D**2
    assert products["linformer_32"] == 2 * 4 * N * 32 * D
    assert products["third_order"] == N * square
    assert products["third_order_factorised"] == 2 * square
    assert costs["explicit"]["share"] == N / (N + 6 * D)
    assert costs["explicit"]["products_from_2"] == costs["third_order"]["products_from_3"] == 0
    assert costs["linformer_32"]["products_from_1"] == costs["flash"]["peak_bytes_from_1"] == 0
    assert costs["explicit"]["peak_bytes_exponent"] > 1.8
    assert costs["loop"]["calls"] > N > costs["explicit"]["calls"]


def test_bytes_are_counted_while_they_live():
    x = torch.zeros(100)  # was there before

    def work():
        for _ in range(5):
            y = x + 1  # 400 bytes, and 400 of the one before until the name is taken away
            del y
        return x.view(10, 10) * 2

    costs = counted(work)
    assert costs["peak_bytes"] == 400
    assert costs["numbers"] == 600
    assert costs["calls"] == 6


def test_seconds_are_the_median_of_single_calls(monkeypatch):
    ticks = iter([3.0 * tick for tick in range(20)])
    monkeypatch.setattr("ablate.probe.STAT", Path("no such file"))
    monkeypatch.setattr("experiments.shared.cost.seconds.time.perf_counter", lambda: next(ticks))
    metrics = Seconds(work="rest", **SIZES, seed=0, repeats=3)(None)
    assert metrics == {"seconds": 3, "log2_seconds": math.log2(3)}

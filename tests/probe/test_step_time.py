"""Times of a training step and its parts."""

import os
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ablate.probe import OtherLoad

SMALL = dict(batch_size=4, src_length=5, tgt_length=6, repeats=9)
BRIEF = SMALL | dict(repeats=1)  # enough for a clock that work alone moves


class Clock(TorchDispatchMode):
    """A clock that ticks with every operation of torch, by the numbers that it writes."""

    def __init__(self):
        super().__init__()
        self.time = 0.0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        self.time += sum(t.numel() for t in tree_leaves(output) if isinstance(t, torch.Tensor))
        return output


@pytest.fixture
def clock(monkeypatch):
    """Seconds that depend on the work alone, not on the machine."""
    with Clock() as ticking:
        monkeypatch.setattr("ablate.probe.time.perf_counter", lambda: ticking.time)
        yield


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_seconds_and_parameters(measure, finite, clock, precision):
    metrics = measure("step_time", **BRIEF, precision=precision)
    assert set(metrics) - {"others"} == {"step", "forward", "attention", "parameters"}
    assert finite(metrics)
    assert metrics["step"] > metrics["forward"] > 0
    assert metrics["step"] > metrics["attention"] > 0
    assert metrics["parameters"] > 1000


def test_work_of_others_is_seen(monkeypatch, tmp_path):
    """All cores work for 9 s in 4 s, of which this process has 3."""
    tick = os.sysconf("SC_CLK_TCK")
    now = {"time": 100.0, "own": 50.0, "all": 700}
    monkeypatch.setattr("ablate.probe.time.perf_counter", lambda: now["time"])
    monkeypatch.setattr(
        "ablate.probe.os.times", lambda: SimpleNamespace(user=now["own"], system=0.0)
    )
    monkeypatch.setattr("ablate.probe.STAT", tmp_path / "stat")

    def write():
        idle = iowait = 10**9 + int(now["time"])  # are no work
        fields = (now["all"] * tick, 0, 0, idle, iowait, 0, 0, 0, 0, 0)
        (tmp_path / "stat").write_text(f"cpu  {' '.join(map(str, fields))}\ncpu0 1 1 1 1\n")

    write()
    load = OtherLoad()
    now.update(time=104.0, own=53.0, all=709)
    write()
    assert load.cores() == pytest.approx(1.5)

"""A norm gives vectors of the type that it is given, so that all arms round their stream alike."""

import functools

import pytest
import torch
from torch.nn import functional as F

from ablate.config import CONF


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Let torch's norms return float32 whatever they are given, as autocast does on CUDA."""

    def float32(norm):
        return functools.wraps(norm)(lambda x, *rest, **named: norm(x, *rest, **named).float())

    for name in ("layer_norm", "rms_norm"):
        monkeypatch.setattr(F, name, float32(getattr(F, name)))


@pytest.mark.parametrize("level", sorted(path.stem for path in CONF.glob("model/norm/*.yaml")))
def test_a_norm_keeps_the_type_of_its_input(build_model, as_on_a_gpu, level):
    norm = build_model(f"model/norm={level}").encoder.residual.norms[0]
    x = torch.randn(2, 3, 16)
    for kind in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == torch.bfloat16):
            output = norm(x.to(kind), torch.ones(2, 3, dtype=torch.bool))
        assert output.dtype == kind

"""Every level of every factor and every loss: the device's numbers beside the processor's."""

import copy

import pytest
import torch
from hydra.utils import instantiate
from torch.nn import functional as F

from ablate.model import Seq2Seq
from ablate.model.residual import Residual
from ablate.testing import rows
from ablate.testing.model import CONF, batch, options

# refused where the factor has them act: where they can
PLACES = {
    f"model/attention={level}": (f"model/attention@model.encoder.attention={level}",)
    for level in ("linformer", "linformer_narrow")
}
LEVELS = list(options(CONF, PLACES))
OF_MODELS = [level for level in LEVELS if level.group != "loss"]


def named(cases):
    return pytest.mark.parametrize("level", cases, ids=str)


def moved(model, device):
    """A copy of a model on a device, without dropout, which draws other numbers there."""
    return copy.deepcopy(model).eval().to(device)


def score(model, device):
    """Logits of real positions, and the gradient of every parameter of their nll."""
    src, tgt_in = (ids.to(device) for ids in batch())
    real, targets = tgt_in != 0, tgt_in.roll(-1, 1)
    logits = model.head(model(Seq2Seq(src, tgt_in)))[real]
    F.cross_entropy(logits, targets[real]).backward()
    return {"logits": logits.detach(), **{n: p.grad for n, p in model.named_parameters()}}


@named(OF_MODELS)
def test_forward_and_gradients_are_those_of_the_processor(level, device):
    ours = score(moved(level.model, device), device)
    theirs = score(moved(level.model, "cpu"), "cpu")
    for name, expected in theirs.items():
        assert ours[name].device.type == device.type
        torch.testing.assert_close(ours[name].cpu(), expected, rtol=1e-3, atol=1e-5, msg=name)


@named([level for level in LEVELS if level.group == "loss"])
def test_losses_are_those_of_the_processor(level, device):
    results = []
    for place in (device, torch.device("cpu")):
        logits, targets = (x.detach().to(place) for x in rows())
        logits.requires_grad_()
        objective, nll = instantiate(level.config)(logits, targets)
        objective.backward()
        results.append([x.detach().cpu() for x in (objective, nll, logits.grad)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@torch.no_grad()
@named(OF_MODELS)
def test_decoding_step_by_step_gives_the_same_numbers(level, device):
    """Caches are made, reordered and cut on the device of the model."""
    steps = []
    for place in (device, torch.device("cpu")):
        model, (src, tgt_in) = moved(level.model, place), (ids.to(place) for ids in batch())
        state = model.start(src, beams=1)
        steps.append([model.head(model.step(ids, state)).cpu() for ids in tgt_in.T])
        state.keep(torch.tensor([0, 2], device=place))
        state.reorder(torch.tensor([1, 0], device=place))
        steps[-1].append(model.head(model.step(tgt_in[:2, 0], state)).cpu())
    real = torch.cat([batch().tgt_in.T != 0, torch.ones(1, 4, dtype=torch.bool)])
    for at, (ours, theirs) in enumerate(zip(*steps, strict=True)):
        kept = real[at][: len(ours)]
        torch.testing.assert_close(ours[kept], theirs[kept], rtol=1e-3, atol=1e-5)


@named(OF_MODELS)
def test_the_same_twice_is_the_same_bit_for_bit(level, device):
    first, second = (score(moved(level.model, device), device) for _ in range(2))
    assert [name for name in first if not torch.equal(first[name], second[name])] == []


def streams(model, device):
    """The types of what runs past the sub-layers, under autocast."""
    types = set()

    def noting(forward):
        def noted(i, stream, sublayer, real):
            passed = forward(i, stream, sublayer, real)
            for state in (stream, passed):
                types.update(x.dtype for x in (state if isinstance(state, tuple) else (state,)))
            return passed

        return noted

    for residual in (part for part in model.modules() if isinstance(part, Residual)):
        residual.forward = noting(residual.forward)
    src, tgt_in = (ids.to(device) for ids in batch())
    with torch.autocast(device.type, torch.bfloat16):
        model(Seq2Seq(src, tgt_in))
    return types


@named([level for level in OF_MODELS if level.group in ("model/residual", "model/norm")])
def test_the_stream_has_one_type_in_every_arm_under_autocast(level, device):
    """CUDA's layer_norm gives float32 there: arms whose stream is normalised must not differ."""
    assert streams(moved(level.model, device), device) == {torch.bfloat16}

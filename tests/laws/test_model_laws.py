"""Laws of the whole model, for every variant. A variant breaks exactly the laws it declares."""

import pytest
import torch
from torch.nn import functional as F

PAD = 0


def close(a, b):
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.fixture
def law():
    from ablate.model.laws import Law

    return Law


def test_shape_and_dtype(variant, batch):
    src, tgt_in = batch
    logits = variant.logits(src, tgt_in)
    assert logits.shape == (4, 18, 20)
    assert logits.dtype == torch.float32
    assert logits[tgt_in != PAD].isfinite().all()


def test_every_parameter_has_a_finite_gradient(variant, batch):
    src, tgt_in = batch
    variant.model.train().zero_grad()
    logits = variant.logits(src, tgt_in)
    real = tgt_in != PAD
    F.cross_entropy(logits[real], tgt_in.roll(-1, 1)[real]).backward()
    variant.model.eval()
    bad = [
        name
        for name, parameter in variant.model.named_parameters()
        if parameter.grad is None or not parameter.grad.isfinite().all()
    ]
    assert not bad


@torch.no_grad()
def test_no_future(variant, batch, law):
    src, tgt_in = batch
    logits = variant.logits(src, tgt_in)
    unchanged = []
    for t in (0, 7, 16):
        other = tgt_in.clone()
        other[:, t + 1 :] = torch.where(other[:, t + 1 :] == 5, 6, 5)
        past = (tgt_in != PAD)[:, : t + 1]
        unchanged.append(
            close(logits[:, : t + 1][past], variant.logits(src, other)[:, : t + 1][past])
        )
    assert all(unchanged) == variant.keeps(law.NO_FUTURE)


@torch.no_grad()
def test_source_padding(variant, batch, law):
    src, tgt_in = batch
    longer = F.pad(src, (0, 13), value=PAD)
    real = tgt_in != PAD
    unchanged = close(variant.logits(src, tgt_in)[real], variant.logits(longer, tgt_in)[real])
    assert unchanged == variant.keeps(law.SOURCE_PADDING)


@torch.no_grad()
def test_target_padding(variant, batch, law):
    src, tgt_in = batch
    longer = F.pad(tgt_in, (0, 5), value=PAD)
    real = tgt_in != PAD
    unchanged = close(variant.logits(src, tgt_in)[real], variant.logits(src, longer)[:, :18][real])
    assert unchanged == variant.keeps(law.TARGET_PADDING)


@torch.no_grad()
def test_stepwise_with_one_beam(variant, batch, law):
    src, tgt_in = batch
    parallel = variant.logits(src, tgt_in)
    state = variant.model.start(src, beams=1)
    steps = torch.stack(
        [variant.model.head(variant.model.step(tokens, state)) for tokens in tgt_in.T], 1
    )
    real = tgt_in != PAD
    assert close(steps[real], parallel[real]) == variant.keeps(law.STEPWISE)


@torch.no_grad()
def test_stepwise_with_beams_that_are_reordered_and_dropped(variant, batch, law):
    model, (src, _) = variant.model, batch
    beams, generator = 3, torch.Generator().manual_seed(1)
    state = model.start(src, beams)
    src = src.repeat_interleave(beams, 0)
    history = torch.empty(12, 0, dtype=torch.long)
    equal = []
    for step in range(18):
        tokens = torch.randint(4, 20, (len(history),), generator=generator)
        history = torch.cat([history, tokens[:, None]], 1)
        logits = model.head(model.step(tokens, state))
        if step in (0, 3, 7, 17):
            equal.append(close(logits, variant.logits(src, history)[:, -1]))
        if step in (4, 12):
            kept = torch.tensor([0, 2, 3] if step == 4 else [1])
            state.keep(kept)
            rows = (kept[:, None] * beams + torch.arange(beams)).flatten()
            history, src = history[rows], src[rows]
        first = torch.arange(len(history)) // beams * beams
        rows = first + torch.randint(beams, (len(history),), generator=generator)
        state.reorder(rows)
        history = history[rows]
    assert len(history) == beams
    assert all(equal) == variant.keeps(law.STEPWISE)


@torch.no_grad()
def test_an_empty_batch_gives_an_empty_output(variant):
    none = torch.empty(0, 5, dtype=torch.long)
    assert variant.logits(none, none).shape == (0, 5, 20)

"""Whole stacks against torch.nn.Transformer: outputs and gradients."""

import pytest
import torch

from ablate.initial import initialise
from ablate.model import build

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
WORDS = (
    *("model=micro", "model.d_model=32", "model.d_ff=48", "model.dropout.rate=0.0"),
    *("model/position=none", "model/embedding=separate"),
)


@pytest.mark.parametrize(
    "residual, attention, causal",
    [
        *((residual, a, True) for residual in ("post_ln", "pre_ln") for a in ("fused", "explicit")),
        ("pre_ln", "fused", False),
    ],
)
def test_outputs_and_gradients(compose, residual, attention, causal):
    from ablate.model.stack import Memory
    from experiments.blocks_against_torch.torch_twin import pairs, run_twins, twin

    chosen = (f"model/residual={residual}", f"model/attention={attention}")
    config = compose(*WORDS, *chosen, f"model.causal={causal}")
    model = build(config.model, src_vocab=9, tgt_vocab=9, joint_vocab=False)
    initialise(model, 1)
    with torch.no_grad():  # so that biases and gains count too
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    encoder, decoder = twin(model.encoder), twin(model.decoder)
    everything = [*pairs(model.encoder, encoder), *pairs(model.decoder, decoder)]
    assert sum(ours.numel() for ours, _, _ in everything) == sum(
        p.numel() for stack in (encoder, decoder) for p in stack.parameters()
    )
    src, tgt = torch.randn(3, 7, 32), torch.randn(3, 5, 32)
    src_real = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    tgt_real = torch.arange(5) < torch.tensor([3, 5, 1])[:, None]

    states = model.encoder(src, src_real)
    out = model.decoder(tgt, tgt_real, Memory(states, src_real))
    their_states, their_out = run_twins(
        encoder, decoder, (src, tgt), (src_real, tgt_real), causal=causal
    )
    torch.testing.assert_close(states, their_states, **CLOSE)
    torch.testing.assert_close(out, their_out, **CLOSE)

    direction = torch.randn_like(out) * tgt_real[:, :, None] / out.numel() ** 0.5
    (out * direction).sum().backward()
    (their_out * direction).sum().backward()
    for ours, theirs, rows in everything:
        torch.testing.assert_close(ours.grad, theirs.grad[rows], **CLOSE)

"""Our stacks and torch's, with the same weights."""

from functools import partial

import pytest
import torch

D_MODEL, N_HEADS = 32, 4


def same(ours, theirs, *inputs, rtol=1e-4, atol=1e-5):
    """Both tensors have the same values and the same gradients by every input."""
    weights = torch.randn_like(ours)
    by_ours, by_theirs = (
        torch.autograd.grad((y * weights).sum(), inputs, retain_graph=True, materialize_grads=True)
        for y in (ours, theirs)
    )
    torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol)
    torch.testing.assert_close(by_ours, by_theirs, rtol=rtol, atol=atol)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def transformer():
    """Build a Transformer of two layers without positions and dropout."""
    from ablate.config.construct import nest_arguments
    from ablate.initial import initialise
    from ablate.model.attention.explicit import Explicit
    from ablate.model.attention.fused import Fused
    from ablate.model.block import Serial
    from ablate.model.dropout import Rates
    from ablate.model.embedding import Separate
    from ablate.model.feed_forward import PositionWise
    from ablate.model.head import LinearHead
    from ablate.model.norm import LayerNorm
    from ablate.model.padding import Columns
    from ablate.model.parametrisation import Standard
    from ablate.model.position import NoPosition
    from ablate.model.projections import Separate as SeparateProjections
    from ablate.model.residual import PostLN, PreLN
    from ablate.model.transformer import ComponentOverrides, Transformer
    from ablate.model.values import Separate as SeparateValues

    def built(residual, attention, causal=True):
        kernel = {"fused": Fused, "explicit": Explicit}[attention]
        given = dict(
            d_model=D_MODEL,
            d_ff=48,
            n_heads=N_HEADS,
            d_head=None,
            n_layers=2,
            n_decoder_layers=2,
            share_layers="none",
            causal=causal,
            bias=True,
            dropout=Rates(0.0, 0.0, 0.0, 0.0, 0.0),
            position=NoPosition,
            residual={"post_ln": PostLN, "pre_ln": PreLN}[residual],
            norm=partial(LayerNorm, eps=1e-5),
            attention=partial(kernel, scale="sqrt_d_head", fill="zero_output"),
            projections=partial(SeparateProjections, output="learned"),
            padding=Columns,
            feed_forward=partial(PositionWise, activation="relu"),
            embedding=partial(Separate, scaled=True),
            values=SeparateValues,
            block=Serial,
            head=LinearHead,
            parametrisation=Standard,
            **dict.fromkeys(("encoder", "decoder", "cross"), ComponentOverrides(None, None)),
            src_vocab=9,
            tgt_vocab=9,
            joint_vocab=False,
        )
        model = Transformer(**nest_arguments(Transformer, given))
        initialise(model, 1)
        with torch.no_grad():  # so that biases and gains count too
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return model

    return built

"""Attention weights and parameter tables."""

import pytest
import torch

from ablate.config import CONF
from ablate.errors import UserError

NAMES = [
    "encoder.0.self",
    "encoder.1.self",
    "decoder.0.self",
    "decoder.0.cross",
    "decoder.1.self",
    "decoder.1.cross",
]


@pytest.mark.parametrize("padding", ["columns", "rows_and_columns", "none"])
def test_weights_do_not_depend_on_the_kernel(build_model, batch, padding):
    from ablate.model.attention import attention_weights

    fused = attention_weights(build_model(f"model/padding={padding}"), batch)
    explicit = build_model(f"model/padding={padding}", "model/attention=explicit")
    explicit_weights = attention_weights(explicit, batch)
    assert sorted(fused) == sorted(explicit_weights) == sorted(NAMES)
    for name in NAMES:
        torch.testing.assert_close(fused[name], explicit_weights[name])


def test_weights_are_distributions_that_obey_the_masks(build_model, batch):
    from ablate.model.attention import attention_weights

    weights = attention_weights(build_model(), batch)
    for name, value in weights.items():
        torch.testing.assert_close(value.sum(-1), torch.ones(value.shape[:3]), msg=name)
    assert weights["decoder.0.self"].triu(1).abs().max() == 0
    assert weights["decoder.1.cross"][2, :, :, 1:].abs().max() == 0
    assert weights["encoder.0.self"].shape == (3, 2, 6, 6)


KERNELS = sorted(path.stem for path in CONF.glob("model/attention/*.yaml"))


@pytest.mark.parametrize("option", KERNELS)
def test_a_scale_is_that_of_the_softmax_or_refused(build_model, option):
    from ablate.model.attention import weights_of
    from ablate.model.padding import Mask
    from experiments.shared.measure.kernels import scale_of

    model = build_model(f"model/attention@model.encoder.attention={option}", "model.d_head=8")
    kernel = dict(model.attentions())["encoder.0.self"].eval()
    if option not in ("explicit", "fused", "gated"):
        with pytest.raises(UserError, match=type(kernel).__name__):
            scale_of(kernel)
        return
    q, k, v = torch.randn(3, 1, 2, 5, 8)
    weights = weights_of(kernel, q, k, v, Mask(), None)
    torch.testing.assert_close(weights, (scale_of(kernel) * q @ k.mT).softmax(-1))

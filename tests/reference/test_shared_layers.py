"""Layers that share their weights against as many layers with equal weights."""

import hydra
import pytest
import torch

from ablate.config import CONF
from ablate.initial import initialise
from ablate.model import Seq2Seq, build

ORDERS = {"pairs": [0, 0, 1], "all": [0, 0, 0]}


def built(share_layers):
    overrides = ["model=micro", "model.d_model=16", "model.n_layers=3", "model.dropout.rate=0.0"]
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [*overrides, f"model.share_layers={share_layers}"]).model
    model = build(config, src_vocab=20, tgt_vocab=20, joint_vocab=True)
    initialise(model, 1)
    return model


@pytest.mark.parametrize("share_layers", ORDERS)
def test_shared_layers_are_layers_with_equal_weights(share_layers):
    shared, plain = built(share_layers), built("none")
    copies = {}
    for stack in ("encoder", "decoder"):
        ours, theirs = getattr(shared, stack), getattr(plain, stack)
        size = len(ours.layers[0])
        for layer, original in enumerate(ORDERS[share_layers]):
            pairs = [(ours.layers[original], theirs.layers[layer])]
            pairs += [
                (ours.residual.norms[size * original + i], theirs.residual.norms[size * layer + i])
                for i in range(size)
            ]
            for shared_module, plain_module in pairs:
                plain_module.load_state_dict(shared_module.state_dict())
                for a, b in zip(shared_module.parameters(), plain_module.parameters(), strict=True):
                    copies.setdefault(a, []).append(b)
    assert len(copies) == len(list(shared.parameters())) - 1  # but for the embedding
    src, tgt = torch.randint(4, 20, (3, 6)), torch.randint(4, 20, (3, 5))
    for model in (shared, plain):
        model.output = model(Seq2Seq(src, tgt))
        (model.output * torch.linspace(-1, 1, 16)).sum().backward()
    torch.testing.assert_close(shared.output, plain.output)
    for original, equal in copies.items():
        total = sum(parameter.grad for parameter in equal)
        torch.testing.assert_close(original.grad, total, rtol=1e-4, atol=1e-4)

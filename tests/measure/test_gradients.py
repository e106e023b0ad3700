"""Gradient norms per layer at the first and the last step."""

import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from ablate.observe import LayerGradients, gradient_norms_by_layer, parameter_norms

# Lightning's advice and its own use of torch
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec"),
]


class Tiny(pl.LightningModule):
    """Two stacks of linear layers whose gradients are easy to take once more."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encoder, self.decoder = nn.Module(), nn.Module()
        self.encoder.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.decoder.layers = nn.ModuleList([nn.Linear(3, 1)])
        self.embedding = nn.Linear(3, 3)
        self.seen = []

    @property
    def model(self):
        return self

    def layers(self):
        for stack in ("encoder", "decoder"):
            for number, layer in enumerate(getattr(self, stack).layers):
                yield f"{stack}.{number}", list(layer.parameters())

    def training_step(self, batch, batch_idx):
        x = self.embedding(batch)
        for layer in self.encoder.layers:
            x = layer(x).tanh()
        return self.decoder.layers[0](x).square().mean()

    def on_before_optimizer_step(self, optimizer):
        norms = gradient_norms_by_layer(dict(self.layers()), parameter_norms(self.parameters()))
        self.seen.append({layer: float(norm) for layer, norm in norms.items()})

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.fixture
def fit(tmp_path):
    data = torch.randn(1, 2, 3, generator=torch.Generator().manual_seed(1))

    def fitted(steps):
        model, gradients = Tiny(), LayerGradients()
        trainer = pl.Trainer(
            accelerator="cpu",
            max_steps=steps,
            callbacks=[gradients],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        loader = DataLoader(data, batch_size=None, num_workers=0)
        trainer.fit(model, loader)
        return model, gradients

    return fitted


def test_first_and_last_step_of_every_layer(fit):
    model, gradients = fit(4)
    metrics = gradients.metrics()
    layers = ("encoder.0", "encoder.1", "decoder.0")
    for when, seen in (("first", model.seen[0]), ("last", model.seen[-1])):
        assert list(seen) == list(layers)
        for layer in layers:
            assert metrics[f"gradient/{when}/{layer}"] == seen[layer]
        encoder_norms = [seen["encoder.0"], seen["encoder.1"]]
        assert metrics[f"gradient/{when}/encoder_ratio"] == pytest.approx(
            max(encoder_norms) / min(encoder_norms)
        )
        assert metrics[f"gradient/{when}/decoder_ratio"] == 1
    assert metrics["gradient/first/encoder.0"] != metrics["gradient/last/encoder.0"]
    assert len(metrics) == 2 * (3 + 2)

"""A part that cannot be built says so before any data is read, and names its settings."""

import pytest
from omegaconf import OmegaConf

from ablate.config.construct import construct
from ablate.errors import UserError
from ablate.train.resolve import resolve


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("trainer.precision=banana", ["trainer.precision=banana", "bf16-mixed"]),
        ("optimizer.betas=[2,0.9]", ["optimizer.betas=[2, 0.9]", "each at least 0 and below 1"]),
        ("trainer.num_nodes=2", ["trainer.num_nodes=2", "NODE_RANK"]),
    ],
)
def test_a_part_that_cannot_be_built_is_named(compose, override, words):
    with pytest.raises(UserError) as error:
        resolve(compose(override))
    assert all(word in str(error.value) for word in words), error.value
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("accelerator", ["cuda"])
def test_a_gpu_that_is_missing_is_one_sentence(compose, monkeypatch, accelerator):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(UserError, match=rf"trainer\.accelerator={accelerator}"):
        resolve(compose("trainer=gpu", f"trainer.accelerator={accelerator}"))


def test_whatever_a_constructor_raises_names_its_node():
    config = OmegaConf.create({"parts": {"mine": {"_target_": "zoneinfo.ZoneInfo", "key": "/x"}}})
    with pytest.raises(UserError, match=r"^parts\.mine\.key=/x: .*/x"):
        construct(config.parts)

"""A part that cannot be built says so before any data is read, and names its settings."""

import pytest
from omegaconf import OmegaConf

from ablate.config.construct import construct
from ablate.config.parts import check_parts
from ablate.errors import UserError


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("trainer.precision=banana", ["trainer.precision=banana", "Allowed precision values"]),
        ("trainer.accelerator=hpu", ["trainer.accelerator=hpu"]),
        ("optimizer.betas=[2,0.9]", ["optimizer.", "betas=[2, 0.9]", "Invalid beta"]),
        ("optimizer.betas=3", ["optimizer.lr=", "optimizer.betas=3"]),
    ],
)
def test_a_part_that_cannot_be_built_is_named(compose, override, words):
    with pytest.raises(UserError) as told:
        check_parts(compose(override))
    assert all(word in str(told.value) for word in words), told.value
    assert "\n" not in str(told.value)


def test_a_model_is_not_sharded_without_gpus(compose, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UserError, match=r"trainer.strategy=fsdp: .* say trainer.strategy=ddp"):
        check_parts(compose("trainer=ddp", "trainer.strategy=fsdp"))


def test_whatever_a_constructor_raises_names_its_node():
    config = OmegaConf.create({"parts": {"mine": {"_target_": "zoneinfo.ZoneInfo", "key": "/x"}}})
    with pytest.raises(UserError, match=r"^parts\.mine\.key=/x: .*/x"):
        construct(config.parts)

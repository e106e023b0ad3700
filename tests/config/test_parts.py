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
        ("trainer.accelerator=hpu", ["trainer.accelerator=hpu"]),
        ("optimizer.betas=[2,0.9]", ["optimizer.betas=[2, 0.9]", "each at least 0 and below 1"]),
        ("trainer.num_nodes=2", ["trainer.num_nodes=2", "NODE_RANK"]),
        ("search.length_penalty=1e6", ["search.length_penalty", "at most 10"]),
        ("search.size=1000000000", ["search.size", "at most 1,000"]),
    ],
)
def test_a_part_that_cannot_be_built_is_named(compose, override, words):
    with pytest.raises(UserError) as error:
        resolve(compose(override))
    assert all(word in str(error.value) for word in words), error.value
    assert "\n" not in str(error.value)


def test_a_model_is_not_sharded_without_gpus(compose, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UserError, match=r"trainer\.strategy=fsdp"):
        resolve(compose("trainer=ddp", "trainer.strategy=fsdp"))


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


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1"])
def test_several_machines_that_know_of_each_other_are_taken(compose, monkeypatch, address):
    variables = {"MASTER_ADDR": address, "MASTER_PORT": "29500", "NODE_RANK": "0"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    resolve(compose("trainer.num_nodes=2"))
    monkeypatch.delenv("NODE_RANK")
    with pytest.raises(UserError, match="NODE_RANK"):
        resolve(compose("trainer.num_nodes=2"))

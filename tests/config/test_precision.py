"""What trainer.precision=auto becomes, and where it is settled."""

import pytest
import torch

from ablate.config.settle import fastest, settle_precision


@pytest.fixture
def processor(monkeypatch):
    """Make a machine without a GPU, whose processor has some capabilities and no other."""

    def make(*able):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(able, True))

    return make


@pytest.fixture
def gpu(monkeypatch):
    """Make a machine with a GPU of some compute capability."""

    def make(*capability):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A card")
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)

    return make


@pytest.mark.parametrize(
    ("able", "precision"),
    [
        ((), "32-true"),
        (("avx512_f", "avx512_vnni", "amx_int8", "amx_tile"), "32-true"),
        (("avx512_f", "avx512_bf16"), "bf16-mixed"),
        (("amx_bf16", "avx512_bf16"), "bf16-mixed"),
    ],
)
def test_a_processor_gets_bfloat16_if_it_multiplies_it(processor, able, precision):
    processor(*able)
    assert fastest("cpu")[0] == precision


@pytest.mark.parametrize(
    ("capability", "precision"),
    [((7, 5), "32-true"), ((8, 0), "bf16-mixed"), ((10, 0), "bf16-mixed")],
)
def test_a_gpu_gets_bfloat16_from_ampere_on(gpu, capability, precision):
    gpu(*capability)
    assert fastest("auto")[0] == precision


@pytest.mark.parametrize("able", ["amx_bf16", "avx512_vnni"])
def test_the_identity_has_what_auto_became(compose, processor, able):
    from ablate.record.files import digest
    from ablate.record.identity import parts

    processor(able)
    config = compose("trainer.precision=auto", "logger=none")
    settle_precision(config)
    precision = "bf16-mixed" if able == "amx_bf16" else "32-true"
    named = compose(f"trainer.precision={precision}", "logger=none")
    assert config.trainer.precision == precision
    assert digest(parts(config, "text")) == digest(parts(named, "text"))

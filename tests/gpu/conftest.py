"""The device that the models run on, and what its arithmetic may change."""

import os

import pytest
import torch

DEVICE = os.environ.get("ABLATE_DEVICE", "cuda")  # cpu tries the tests themselves


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, and skip them where the device is not at hand."""
    absent = DEVICE == "cuda" and not torch.cuda.is_available()
    for item in items:
        if "/tests/gpu/" in item.path.as_posix():
            item.add_marker(pytest.mark.gpu)
            if absent:
                item.add_marker(pytest.mark.skip(reason="no CUDA; ABLATE_DEVICE=cpu tries it"))


@pytest.fixture(scope="session")
def device():
    """The device under test."""
    return torch.device(DEVICE)


@pytest.fixture(scope="session")
def trainer():
    """The words that train on it."""
    words = ("trainer.accelerator=gpu", "trainer.devices=1")
    return words if DEVICE == "cuda" else ("trainer.accelerator=cpu",)


@pytest.fixture(autouse=True)
def whole_float32(monkeypatch):
    """Leave TF32 out, which rounds products to 10 bits."""
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)

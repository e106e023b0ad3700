"""Probes of random sentences under random weights: order, influence, teacher forcing."""

import pytest
import torch
from omegaconf import OmegaConf

from ablate.config.location import option_files
from experiments.shared.probe.draws import each_replaced

NOTHING = 1e-12
SOMETHING = 1e-3


@pytest.fixture
def probed(measure):
    def run_probe(probe, *overrides, **keys):
        return measure(probe, *overrides, **{"draws": 2, "length": 6, **keys})

    return run_probe


def test_every_token_is_replaced_in_turn():
    ids = torch.tensor([[4, 5, 9]])
    changed = each_replaced(ids)
    assert changed[0].tolist() == [4, 5, 9]
    assert ((changed[1:] != ids) == torch.eye(3, dtype=torch.bool)).all()


@pytest.mark.parametrize("probe", ["torch_layers", "blocks"])
def test_modules_of_torch_start_from_the_seed_of_the_probe(measure, probe):
    with torch.random.fork_rng(devices=[]):
        first, second = (torch.manual_seed(n) and measure(probe, draws=1) for n in (1, 2))
    assert first == pytest.approx(second, nan_ok=True)


def test_without_positions_the_source_is_a_bag_and_the_target_is_not(probed):
    metrics = probed("word_order", "model/position=none")
    assert max(metrics["encoder"], metrics["source"]) < NOTHING
    assert metrics["largest"] == metrics["target"] > SOMETHING


def test_one_layer_does_not_know_the_order_of_the_target(probed):
    metrics = probed("word_order", "model/position=none", "model.n_layers=1")
    assert metrics["largest"] < NOTHING


@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_positions_give_order(probed, position):
    metrics = probed("word_order", f"model/position={position}", "model.n_layers=1")
    assert min(metrics[f"{side}_least"] for side in ("encoder", "source", "target")) > SOMETHING


@pytest.mark.parametrize("kernel", ["explicit", "fused"])
@pytest.mark.parametrize("residual", ["post_ln", "pre_ln"])
def test_what_depends_on_what(probed, kernel, residual):
    metrics = probed("influence", f"model/attention={kernel}", f"model/residual={residual}")
    assert metrics["decoder_future"] < NOTHING
    assert min(metrics["encoder_other"], metrics["source"], metrics["decoder_past"]) > 1e-6


def test_a_decoder_without_its_mask_sees_the_future(probed, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "tril", lambda square: square)
    assert probed("influence")["decoder_future"] > SOMETHING
    metrics = probed("teacher_forcing")
    assert min(metrics["prefix"], metrics["step"]) > SOMETHING


@pytest.mark.parametrize("kernel", ["explicit", "fused"])
@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
def test_reading_at_once_is_reading_token_by_token(probed, kernel, position):
    choices = (f"model/attention={kernel}", f"model/position={position}")
    metrics = probed("teacher_forcing", *choices)
    assert max(metrics["prefix"], metrics["step"]) < NOTHING
    assert metrics["control"] > SOMETHING


def test_no_probe_draws_by_the_seed_alone():
    for path in option_files("probe").values():
        seed = OmegaConf.to_container(OmegaConf.load(path)).get("seed", "${run_seed:}")
        assert seed == "${run_seed:}", path.stem

"""Probes of random sentences under random weights: order, influence, teacher forcing."""

import pytest
import torch
from omegaconf import OmegaConf

from ablate.config import option_files
from experiments.shared.probe.draws import each_replaced


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


def test_no_probe_draws_by_the_seed_alone():
    for path in option_files("probe").values():
        seed = OmegaConf.to_container(OmegaConf.load(path)).get("seed", "${run_seed:}")
        assert seed == "${run_seed:}", path.stem

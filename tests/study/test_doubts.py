"""What earlier runs leave undecided is said before a sweep starts, and not by `plan` alone."""

from unittest.mock import Mock

import pytest
from hydra.types import HydraContext
from omegaconf import OmegaConf

from ablate.plan import power
from ablate.sweep.compose import PlannedSweep

from .conftest import POST, PRE


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_they_are_printed_before_the_first_run(
    monkeypatch, capsys, claim, run, evidence, tmp_path, margin
):
    runs = [run(arm, seed, **{"test/bleu": 99.9}) for arm in (PRE, POST) for seed in (0, 1)]
    before = evidence(runs, claim(metric="test/bleu", margin=margin))
    monkeypatch.setattr(power, "earlier_sweep", lambda *_: before)
    config = OmegaConf.create({"name": "mine", "paths": {"results": str(tmp_path)}})
    context = HydraContext(config_loader=Mock(), callbacks=Mock())
    power.say_doubts(PlannedSweep(context, config, before.study, [], [], [], {}))
    assert ("a perfect model" in capsys.readouterr().err) == bool(margin)

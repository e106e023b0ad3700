"""What earlier runs leave undecided is said before a sweep starts, and not by `plan` alone."""

from unittest.mock import Mock

import pytest
from hydra.types import HydraContext
from omegaconf import OmegaConf

from ablate.plan import power
from ablate.plan.power import reason
from ablate.sweep.compose import PlannedSweep

PRE, POST = {"model/residual": "pre_ln"}, {"model/residual": "post_ln"}

NO_CONTEXT = HydraContext(config_loader=Mock(), callbacks=Mock())


@pytest.mark.parametrize(
    ("scores", "changes", "why"),
    [
        ((99.9, 99.9), {"kind": "equivalence", "margin": 1.0}, "ceiling"),
        ((99.8, 99.9), {"kind": "superiority", "margin": 1.0}, "a perfect model"),
        ((30.0, 1.0), {"kind": "non_inferiority", "margin": 2.0}, "an untrained model"),
        ((0.1, 0.1), {"kind": "superiority", "margin": 1.0}, "nothing was learned"),
        ((0.1, 0.1), {"kind": "equivalence", "margin": 1.0}, "nothing was learned"),
        ((30.0, 29.0), {"kind": "superiority", "margin": 1.0}, ""),
        ((0.0, 30.0), {"kind": "superiority", "margin": 1.0}, ""),
    ],
)
def test_earlier_runs_say_which_claims_would_stay_undecided(
    claim, run, evidence, scores, changes, why
):
    arms = zip((PRE, POST), scores, strict=True)
    runs = [
        run(arm, seed, **{"test/bleu": score + seed / 100})
        for arm, score in arms
        for seed in (0, 1)
    ]
    asked = claim(metric="test/bleu", **changes)
    doubt = reason(asked, evidence(runs, asked))
    assert why in doubt and bool(doubt) == bool(why)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_they_are_printed_before_the_first_run(
    monkeypatch, capsys, claim, run, evidence, tmp_path, margin
):
    asked = claim(metric="test/bleu", margin=margin)
    runs = [run(arm, seed, **{"test/bleu": 99.9}) for arm in (PRE, POST) for seed in (0, 1)]
    before = evidence(runs, asked)
    monkeypatch.setattr(power, "earlier_sweep", lambda *_: before)
    config = OmegaConf.create({"name": "mine", "paths": {"results": str(tmp_path)}})
    power.say_doubts(PlannedSweep(NO_CONTEXT, config, before.study, [], [], [], {}))
    assert ("a perfect model" in capsys.readouterr().err) == bool(margin)
    power.say_doubts(PlannedSweep(NO_CONTEXT, config, None, [], [], [], {}))
    assert not capsys.readouterr().err

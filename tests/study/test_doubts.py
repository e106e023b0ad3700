"""What earlier runs leave undecided is said before a sweep starts, and not by `plan` alone."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hydra.types import HydraContext
from omegaconf import OmegaConf

from ablate.plan import wording
from ablate.plan.power import reason
from ablate.sweep.planned import PlannedSweep

PRE, POST = {"model/residual": "pre_ln"}, {"model/residual": "post_ln"}

NO_CONTEXT = HydraContext(config_loader=Mock(), callbacks=Mock())


@pytest.mark.parametrize(
    ("scores", "changes", "why"),
    [
        ((99.9, 99.9), {"kind": "equivalence", "margin": 1.0}, "ceiling"),
        ((99.8, 99.9), {"kind": "superiority", "margin": 1.0}, "below the best"),
        ((30.0, 1.0), {"kind": "non_inferiority", "margin": 2.0}, "learned nothing"),
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


@pytest.mark.parametrize("lines", [[], ["c: both arms are at the ceiling"], ["a: x", "b: y"]])
@pytest.mark.parametrize("study", [None, {"claims": []}])
def test_they_are_printed_once_before_the_first_run(monkeypatch, capsys, tmp_path, lines, study):
    config = OmegaConf.create({"name": "mine", "paths": {"results": str(tmp_path)}})
    sweep = PlannedSweep(NO_CONTEXT, config, study, [], [], [], {})
    monkeypatch.setattr(wording, "of_cells", lambda *_: SimpleNamespace(tuned=""))
    monkeypatch.setattr(wording, "doubts", lambda *_: lines)
    wording.say_doubts(sweep)
    printed = capsys.readouterr().err
    assert bool(printed) == bool(lines and study is not None)
    assert all(line in printed for line in lines if study is not None)

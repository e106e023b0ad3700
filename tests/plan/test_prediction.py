"""The study that tests whether the gains of a study of combinations add up."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from ablate.config.combinations import plan_of, recipes
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.plan.prediction import prediction, study_file

FACTORS = "abcdefg"
DESIGN = {
    **{"design": "combinations", "recipes": 60, "repeated": 12, "drawn_with": 0, "excluded": []},
    "levels": {f: {"off": {}, "on": {f"model.{f}": 1}} for f in FACTORS},
    "rate": {"key": "optimizer.lr", "by": "a", "values": {"off": [1.0, 2.0], "on": [3.0, 4.0]}},
}


@pytest.fixture
def evidence():
    """Runs in which each factor lowers the loss, the later ones more; the second rate is better."""
    rng, runs = np.random.default_rng(0), []
    for run in recipes(DESIGN, plan_of(DESIGN)):
        gain = sum(0.02 * (k + 1) * (run.levels[f] == "on") for k, f in enumerate(FACTORS))
        loss = 3.0 - gain + 0.1 * (run.levels["rate"] in (1.0, 3.0)) + 0.01 * rng.normal()
        metrics = {"test/bpb": loss, "test/nll": loss, "val/nll": loss, "unigram_nll": 4.0}
        runs.append(
            {
                **{"cell": len(runs), "identity": str(len(runs)), "seed": run.seed, "error": ""},
                **{"status": "finished", "levels": run.levels, "arm": run.name},
                **{"metrics": metrics},
            }
        )
    claim = {"id": "c", "metric": "test/bpb", "better": "lower", "kind": "superiority"}
    study = {**DESIGN, "factors": [*FACTORS, "rate"], "claims": [claim], "seeds": 72}
    registration = {"command": "python -m ablate +experiment=mine -m", "part": False}
    return replace(Evidence.made_up(study, runs), registration=registration)


def test_the_study_has_seven_arms_fresh_seeds_and_the_predicted_gain(evidence):
    design, result = prediction(evidence)
    written = yaml.safe_load(study_file(evidence, design, result))
    study = written["study"]
    variants = study["screen"]["variants"]
    assert [*variants] == ["first_levels", "best", *(f"without_{f}" for f in "gfedc")]
    assert variants["first_levels"] == {"optimizer.lr": 2.0}
    assert variants["best"] == {**{f"model.{f}": 1 for f in FACTORS}, "optimizer.lr": 4.0}
    assert variants["without_g"] == {k: x for k, x in variants["best"].items() if k != "model.g"}
    gain, *worth = study["claims"]
    assert gain["predicted"]["gain"] == pytest.approx(0.56, abs=0.03)
    assert gain["margin"] == pytest.approx(0.3 * gain["predicted"]["gain"], rel=1e-3)
    assert [claim["baseline"]["variant"] for claim in worth] == [*variants][2:]
    assert written["hydra"]["sweeper"]["params"]["seed"].startswith("range(72,")
    assert written["defaults"] == ["mine", "_self_"]


def test_a_third_predicts_nothing(evidence):
    with pytest.raises(UserError):
        prediction(replace(evidence, registration={**evidence.registration, "part": True}))

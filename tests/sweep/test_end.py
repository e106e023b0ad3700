"""The advice that a sweep prints at its end."""

import pytest

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import reason
from ablate.report.content import next_runs


@pytest.fixture
def advice():
    def of(exploratory, *claims, baseline_seeds=None, metric="test/bleu"):
        words = "+experiment=mine seed=0,1 optimizer.lr=0.1 replicate=2 -m"
        study = {"exploratory": exploratory, "seeds": 2, "baseline_seeds": baseline_seeds}
        registration = {"command": f"python -m ablate {words}"}
        runs = [{"seed": seed, "replicate": 2} for seed in (0, 1)]
        made = Evidence.synthetic(study, runs, registration=registration)
        keys = ("verdict", "pairs", "seeds_needed", "problem")
        about = [{"metric": metric} | dict(zip(keys, c, strict=False)) for c in claims]
        return next_runs(made, {"claims": about})

    return of


NOTHING = reason("nothing_learned", metric="test/bleu", measures="")
PLAN = {"supported": {"seeds": 6, "effect": 1.0}, "refuted": {"seeds": 9, "effect": 0.0}}


def test_more_seeds_are_fresh_ones_so_that_their_verdict_is_not_exploratory(advice):
    command = advice(False, ("inconclusive", 2, PLAN), ("supported", 2, None))
    assert "+experiment=mine optimizer.lr=0.1 'seed=range(6)' budget.seeds=6" in command
    assert "replicate=3 contest=true -m" in command and "seed=0,1" not in command
    command = advice(False, ("inconclusive", 2, PLAN), baseline_seeds=5)
    assert "budget.seeds=6 replicate=3 contest=true study.baseline_seeds=15 -m" in command
    command = advice(True, ("inconclusive", 2, PLAN))
    assert "optimizer.lr=0.1 replicate=2 'seed=range(6)' -m" in command
    unlearned = ("inconclusive", 2, None, NOTHING)
    assert "ablate compare FOLDER --metric test/nll" in advice(True, unlearned)
    assert not advice(False, unlearned) and not advice(True, unlearned, metric="test/nll")
    few = ("inconclusive", 2, None, reason("too_few_learned", pairs=0, needed=2))
    assert "test/nll" in advice(True, few)

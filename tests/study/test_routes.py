"""Routes to a "supported" that was not planned: luck, runs that were seen before, another rate."""

from dataclasses import replace

import pytest

from ablate.evidence.types import reason
from ablate.verdict.conclude import conclude
from ablate.verdict.contrast import asked_of
from lab.calibration import fishing
from lab.calibration.fishing import PHackingSimulation, Try

EXACT = {"kind": "exact", "margin": 0.0, "metric": "test/changed"}


@pytest.fixture
def concluded(evidence):
    """Return the verdicts on the claims of made-up evidence; each run has its own cell."""

    def conclude_runs(runs, *claims, **more):
        numbered = [run | {"cell": cell} for cell, run in enumerate(runs)]
        return conclude(replace(evidence(numbered, *claims, **more), regime={"steps": 9}))

    return conclude_runs


def test_an_exact_claim_about_trained_runs_is_tested_over_seeds(arms, claim, concluded):
    for seeds, decided in ((3, "inconclusive"), (6, "supported")):
        runs = arms([1.0] * seeds, [1.0] * seeds)
        trained = [run | {"metrics": {**run["metrics"], "steps": 9}} for run in runs]
        exact = claim(kind="exact", margin=0.0)
        (entry,) = concluded(trained, exact, seeds=seeds)["claims"]
        assert (entry["verdict"], entry["p"]["supported"]) == (decided, 0.5**seeds)
        (entry,) = concluded(runs, exact | {"metric": "parameters"})["claims"]
        assert entry["p"] == {}  # training does not change the number of parameters


def test_lucky_seeds_of_an_exact_claim_are_exploratory(monkeypatch):
    import numpy as np

    monkeypatch.setattr(fishing, "CLAIM", {**fishing.CLAIM, **EXACT})
    user = PHackingSimulation(np.random.default_rng(0))
    user.judged(Try(seeds=tuple(range(15)), planned=15))
    lucky = user.judged(Try(seeds=(0, 3, 4, 8, 11), planned=15))
    assert asked_of(fishing.CLAIM, lucky)["tried"] == [reason("seeds_left_out", seeds=10)]
    few = user.judged(Try(seeds=(0, 3, 4, 8, 11), planned=5))
    tried, *_ = asked_of(fishing.CLAIM, few)["tried"]
    assert ["seeds", 15, 5] in tried["values"]["changes"]


@pytest.mark.parametrize(
    ("older", "exploratory"),
    [({"post_ln": 9}, False), ({"post_ln": 9, "pre_ln": 8}, True), ({"pre_ln": 1}, False)],
)
def test_a_pair_that_was_known_before_the_registration_makes_a_verdict_exploratory(
    arms, claim, concluded, older, exploratory
):
    runs = [
        run | {"ended": 1.0 if run["seed"] < older.get(run["arm"], 0) else 100.0}
        for run in arms([3.0 + s % 2 for s in range(9)], [1.0] * 9)
    ]
    verdict = concluded(runs, claim(), seeds=9)
    assert verdict["exploratory"] == exploratory
    assert verdict["older_runs"] == sum(older.values())


def of_variants(arms, settings, tune=None):
    """Runs of a baseline and of a variant `better`, with the overrides of each arm."""
    levels = {"pre_ln": "better", "post_ln": "baseline"}
    runs = arms([3.0, 4.0, 3.5], [1.0, 1.1, 1.2])
    return [
        run
        | {"levels": {"variant": levels[run["arm"]]}, "arm": levels[run["arm"]]}
        | {"command": f"python -m ablate {' '.join(settings[run['arm']])} seed={run['seed']}"}
        for run in runs
    ]


RATE = "optimizer.lr=0.02"


@pytest.mark.parametrize("tried", [False, True])
def test_a_variant_with_its_own_learning_rate_is_exploratory_unless_the_baseline_had_it(
    arms, claim, concluded, tried
):
    from ablate.words.answer import evidence_line

    runs = of_variants(arms, {"pre_ln": ["model/norm=none", RATE], "post_ln": []})
    if tried:
        runs += [
            run
            | {"levels": {"variant": "rate"}, "arm": "rate", "command": f"python -m ablate {RATE}"}
            for run in runs
            if run["arm"] == "baseline"
        ]
    sides = {"treatment": {"variant": "better"}, "baseline": {"variant": "baseline"}}
    verdict = concluded(runs, claim(**sides), factors=["variant"])
    (entry,) = verdict["claims"]
    assert RATE in evidence_line(entry, entry)
    assert entry["exploratory"] != tried
    assert (reason("rates_untuned", rates=[RATE]) | {"claims": []} in verdict["caveats"]) != tried


def test_learning_rates_that_are_compared_or_tuned_are_no_reason(arms, claim, concluded):
    sides = {"treatment": {"variant": "better"}, "baseline": {"variant": "baseline"}}
    compared = of_variants(arms, {"pre_ln": [RATE], "post_ln": []})
    assert not concluded(compared, claim(**sides), factors=["variant"])["exploratory"]
    tuned = of_variants(
        arms, {"pre_ln": ["model/norm=none", RATE], "post_ln": ["optimizer.lr=0.01"]}
    )
    tuned = [run | {"tuned": {"value": 0.02}} for run in tuned]
    tune = {"key": "optimizer.lr", "values": [0.01, 0.02], "seeds": [9], "metric": "val/nll"}
    tune |= {"better": "lower"}
    verdict = concluded(tuned, claim(**sides), factors=["variant"], tune=tune)
    assert not verdict["exploratory"]

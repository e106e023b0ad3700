"""Routes to a "supported" that was not planned: runs that were seen before, another rate."""

from dataclasses import replace

import pytest

from ablate.evidence.outcome import reason
from ablate.verdict.conclude import conclude

RATE = "optimizer.lr=0.02"
SIDES = {"treatment": {"variant": "better"}, "baseline": {"variant": "baseline"}}
TUNE = {
    **{"key": "optimizer.lr", "values": [0.01, 0.02], "seeds": [9]},
    **{"metric": "val/nll", "better": "lower"},
}


@pytest.fixture
def concluded(evidence):
    """Return the verdicts on the claims of made-up evidence; each run has its own cell."""

    def conclude_runs(runs, *claims, **more):
        numbered = [run | {"cell": cell} for cell, run in enumerate(runs)]
        return conclude(replace(evidence(numbered, *claims, **more), regime={"steps": 9}))

    return conclude_runs


@pytest.mark.parametrize(
    ("older", "earlier", "exploratory"),
    [
        ({"post_ln": 9}, [], False),
        ({"post_ln": 9, "pre_ln": 8}, [], True),
        ({"pre_ln": 1}, [], False),
        ({"pre_ln": 1}, ["other"], True),
        ({}, ["other"], False),
    ],
)
def test_a_pair_that_was_known_before_the_registration_makes_a_verdict_exploratory(
    arms, claim, concluded, older, earlier, exploratory
):
    runs = [
        run | {"ended": 1.0 if run["seed"] < older.get(run["arm"], 0) else 100.0}
        for run in arms([3.0 + s % 2 for s in range(9)], [1.0] * 9)
    ]
    verdict = concluded(runs, claim(), seeds=9, registration={"earlier": earlier})
    assert verdict["claims"][0]["exploratory"] == verdict["exploratory"] == exploratory
    assert verdict["older_runs"] == sum(older.values())


@pytest.fixture
def of_variants(arms):
    """Runs of a baseline and of a variant `better`, with the overrides of each."""

    def make(better, baseline=(), **more):
        named = {"pre_ln": ("better", better), "post_ln": ("baseline", baseline)}
        runs = arms([3.0, 4.0, 3.5], [1.0, 1.1, 1.2])
        for run in runs:
            name, words = named[run["arm"]]
            command = f"python -m ablate {' '.join(words)} seed={run['seed']}"
            run |= {"levels": {"variant": name}, "arm": name, "command": command} | more
        return runs

    return make


@pytest.mark.parametrize("tried", [False, True])
def test_a_variant_with_its_own_learning_rate_is_exploratory_unless_the_baseline_had_it(
    of_variants, claim, concluded, tried
):
    runs = of_variants(["model/norm=none", RATE])
    if tried:
        rate = {"levels": {"variant": "rate"}, "arm": "rate", "command": f"python -m ablate {RATE}"}
        runs += [run | rate for run in runs if run["arm"] == "baseline"]
    verdict = concluded(runs, claim(**SIDES), factors=["variant"])
    assert verdict["claims"][0]["exploratory"] != tried
    assert (reason("rates_untuned", rates=[RATE]) | {"claims": []} in verdict["caveats"]) != tried


@pytest.mark.parametrize(
    ("words", "tuned", "tune"),
    [
        (([RATE],), {}, None),  # the rate is what is compared
        (
            (["model/norm=none", RATE], ["optimizer.lr=0.01"]),
            {"tuned": {"value": 0.02}},
            TUNE,
        ),
    ],
)
def test_learning_rates_that_are_compared_or_tuned_are_no_reason(
    of_variants, claim, concluded, words, tuned, tune
):
    runs = of_variants(*words, **tuned)
    assert not concluded(runs, claim(**SIDES), factors=["variant"], tune=tune)["exploratory"]

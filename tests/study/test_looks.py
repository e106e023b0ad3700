"""Which claims of a screen are judged, and which wait for the runs of an arm."""

import pytest

from ablate.evidence.registration import lacks_runs, split_claims
from ablate.verdict.conclude import conclude
from ablate.verdict.stored import replications


def _nll(arm, seed):
    gain = {"bad": -1.0, "good": 0.01 + 0.0015 * (seed % 3)}.get(arm, 0.0)
    return 1.0 + 0.01 * (seed % 3) - gain


@pytest.fixture
def screen(claim, run, evidence):
    """Evidence of a screen with some seeds of each given arm; the study plans ten seeds."""

    def make(*claims, **seeds_by_arm):
        runs = [
            run({"variant": arm}, seed, **{"test/nll": _nll(arm, seed)})
            for arm, seeds in seeds_by_arm.items()
            for seed in range(seeds)
        ]
        study = {"factors": ["variant"], "seeds": 10, "looks": 2, "screen": {"variants": {}}}
        return evidence(runs, [], **study, claims=[*claims])

    def about(name, **more):
        sides = {"treatment": {"variant": name}, "baseline": {"variant": "baseline"}}
        return claim(id=name, metric="test/nll", better="lower", where={}, **sides, **more)

    return make, about


def ids(claims):
    return [claim["id"] for claim in claims]


def test_a_claim_waits_for_every_arm_that_it_names_and_one_without_arms_for_all(screen, claim):
    make, about = screen
    claims = [
        *(about("good"), about("same", kind="non_inferiority", loses={"variant": "bad"})),
        claim(id="whole", kind="exact", where={}, treatment={}, baseline={}),
    ]
    first = make(*claims[:2], baseline=10, good=10, same=10)
    assert [*map(ids, split_claims(first.runs, first.study))] == [["good"], ["same"]]
    first = make(*claims, good=10, bad=10)
    assert ids(split_claims(first.runs, first.study)[1]) == ["good", "same", "whole"]
    assert lacks_runs(first.runs, first.study)
    later = make(*claims, baseline=10, good=10, same=10, bad=10)
    assert [*map(ids, split_claims(later.runs, later.study))] == [["good", "same", "whole"], []]


def test_a_replication_answers_the_claims_that_were_judged(screen):
    make, about = screen
    claims = [about("good"), about("bad")]
    first = conclude(make(*claims, baseline=10, bad=10))
    fresh = conclude(make(*claims, baseline=10, good=10, bad=10))
    assert ids(replications(first, fresh)) == ["bad"]
    assert [claim["primary"] for claim in first["claims"]] == [False]

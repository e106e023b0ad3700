"""Verdicts over several datasets, on some of which runs failed or are missing."""

import numpy as np
import pandas as pd
import pytest

import ablate

ASKED = {"arm": "arm", "metric": "loss", "better": "lower", "treatment": "b", "baseline": "a"}


def runs(seeds=10, datasets="wxyz"):
    """Runs of two arms on each dataset; b is better by 0.1."""
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {"data": data, "arm": arm, "seed": seed, "loss": mean + 0.01 * random.standard_normal()}
        for data in datasets
        for arm, mean in (("a", 3.0), ("b", 2.9))
        for seed in range(seeds)
    )


def over_all(frame, **asked):
    *_, claim = ablate.compare(frame, **ASKED, group="data", **asked).to_dict()["claims"]
    assert claim["group"] == "over all"
    return claim


@pytest.mark.parametrize("pair", ["", "seed"])
def test_failed_runs_count_over_all_datasets(pair):
    frame = runs()
    frame.loc[(frame.arm == "b") & (frame.seed < 7), "loss"] = np.nan
    claim = over_all(frame, pair=pair)
    assert (claim["verdict"], claim["decided_by_failures"]) == ("refuted", True)
    assert "28 of 40 runs of b and 0 of 40 runs of a" in claim["evidence"]
    assert any("difference of the rates decides" in sentence for sentence in claim["details"])
    assert over_all(frame, pair=pair, missing="leave_out")["verdict"] == "supported"


@pytest.mark.parametrize("seed", [0, 2])
def test_the_mean_over_datasets_pays_for_failures(seed):
    frame = runs()
    whole = over_all(frame)["p"]["supported"]
    frame.loc[(frame.data != "z") & (frame.seed == seed), "loss"] = np.nan
    claim = over_all(frame)
    assert any("each test has half of alpha" in sentence for sentence in claim["details"])
    assert claim["verdict"] == "supported" and claim["p"]["supported"] > 1.5 * whole


@pytest.mark.parametrize(("seeds", "status"), [(2, "inconclusive"), (10, "refuted")])
def test_a_dataset_that_is_lost_to_failures_is_not_left_out(seeds, status):
    frame = runs(seeds)
    frame.loc[(frame.arm == "b") & (frame.data == "z"), "loss"] = np.nan
    claim = over_all(frame)
    assert claim["verdict"] == status
    assert (
        claim["headline"]
        == {
            2: "Undecided (over 3 of 4 datasets). Failed runs leave 1 of 4 datasets without an "
            "estimate.",
            10: "Refuted (over all). More runs of b fail than of a.",
        }[seeds]
    )
    assert over_all(frame, missing="leave_out")["verdict"] == "supported"


def test_the_headline_counts_datasets_without_runs_of_an_arm():
    frame = runs()
    claim = over_all(frame[(frame.arm == "a") | (frame.data != "z")])
    assert claim["headline"].startswith("Supported (over 3 of 4 datasets). b has")
    assert over_all(frame)["headline"].startswith("Supported (over all). b has")
    frame.loc[(frame.data == "z") & (frame.seed == 0), "loss"] = np.nan
    claim = over_all(frame[(frame.arm == "a") | (frame.data != "z")])
    assert claim["headline"].startswith("Supported (over 3 of 4 datasets). b has")


@pytest.mark.parametrize(
    "asked", [{"group": "data"}, {"where": {"data": "w"}, "minus": {"data": "x"}}]
)
def test_noise_is_borrowed_within_a_dataset(asked):
    frame = runs(2, "wx")
    lender = runs(10, "wx").query("arm == 'a'").assign(arm="c")
    few = pd.concat([frame, lender])
    few.loc[few.data == "x", "loss"] += 5
    claim = ablate.compare(few, **ASKED, **asked, noise={"arms": ["c"]}).to_dict()["claims"][0]
    (variance,) = lender[lender.data == "w"].groupby("arm").loss.var()
    (other,) = lender[lender.data == "x"].groupby("arm").loss.var()
    expected = variance if "group" in asked else variance + other
    assert claim["standard_error"] == pytest.approx(expected**0.5, rel=1e-6)
    assert claim["verdict"] == ("supported" if "group" in asked else "inconclusive")
    alone = few[(few.arm != "c") | (few.data == "x")]
    (claim, *_) = ablate.compare(alone, **ASKED, **asked, noise={"arms": ["c"]}).claims
    assert any("The noise of c cannot be borrowed for b" in line for line in claim.trust)

"""Sentences on how far to trust a verdict."""

import pandas as pd
import pytest

import ablate

ASKED = {"arm": "arm", "metric": "loss", "better": "lower", "treatment": "b", "baseline": "a"}


@pytest.mark.parametrize("column", ["state", "State", "status"])
def test_runs_that_did_not_end_by_themselves_are_named(column):
    states = ["finished"] * 7 + ["crashed", "RUNNING", "crashed"]
    runs = pd.DataFrame({"arm": [*"ab"] * 5, "loss": range(10), column: states})

    def doubts(**asked):
        trust = ablate.compare(runs, **ASKED, **asked).trust
        return [sentence for sentence in trust if "still count with their value" in sentence]

    (sentence,) = doubts()
    assert f"{column} is RUNNING or crashed for 3 of 10 runs" in sentence
    (sentence,) = doubts(failed={column: "crashed"})
    assert f"{column} is RUNNING for 1 of 10 runs" in sentence
    assert f"`failed: {{{column}: [RUNNING]}}`" in sentence
    for missing in ("rate", 9.0):
        assert not doubts(failed={column: ["crashed", "RUNNING"]}, missing=missing)

"""Caveats on a table of runs, and values that cannot be compared."""

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.errors import UserError
from ablate.words.reasons import sentence

ASKED = {"arm": "arm", "metric": "loss", "better": "lower", "treatment": "b", "baseline": "a"}


@pytest.mark.parametrize("column", ["state", "State", "status"])
def test_runs_that_did_not_end_by_themselves_are_named(column):
    states = ["finished"] * 7 + ["crashed", "RUNNING", "crashed"]
    runs = pd.DataFrame({"arm": [*"ab"] * 5, "loss": range(10), column: states})

    def doubts(**asked):
        caveats = ablate.compare(runs, **ASKED, **asked).to_dict()["caveats"]
        assert all(map(sentence, caveats))
        return [c["values"] for c in caveats if c["code"] == "unfinished"]

    assert doubts() == [{"column": column, "states": ["RUNNING", "crashed"], "runs": 3, "of": 10}]
    (values,) = doubts(failed={column: "crashed"})
    assert (values["states"], values["runs"]) == (["RUNNING"], 1)
    for missing in ("rate", 9.0):
        assert not doubts(failed={column: ["crashed", "RUNNING"]}, missing=missing)


def test_values_whose_squares_overflow_are_refused():
    runs = pd.DataFrame({"arm": [*"ab"] * 5, "loss": [1.0] * 9 + [1e200]})
    with pytest.raises(UserError, match=r"above 1e\+150"):
        ablate.compare(runs, **ASKED)


def test_an_exact_claim_checks_the_pairs_that_are_complete():
    runs = pd.DataFrame({"arm": [*"aaaabbbb"], "seed": [0, 1, 2, 3, 0, 1, 2, 9], "loss": 1.0})
    (claim,) = ablate.compare(runs, **ASKED, kind="exact", pair="seed").to_dict()["claims"]
    assert (claim["verdict"], claim["cases"]["counted"]) == ("supported", 3)


def test_an_exponent_is_the_slope_of_logarithms():
    width = np.repeat([64.0, 128.0, 256.0], 4)
    loss = 9 * width**-0.25 * np.tile([0.99, 1.0, 1.0, 1.01], 3)
    runs = pd.DataFrame({"width": width, "loss": loss, "arm": "a"})
    asked = {"metric": "loss", "better": "lower", "kind": "trend", "over": "width"}
    (claim,) = ablate.compare(runs, **asked, scale="log_log").to_dict()["claims"]
    assert claim["effect"] == pytest.approx(0.25)
    with pytest.raises(UserError, match="could not convert"):
        ablate.compare(runs.assign(width="wide"), **asked)

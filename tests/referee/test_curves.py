"""Tables with a row per run and step: which row of a run counts, and which tables are refused."""

import pandas as pd
import pytest

import ablate
from ablate.errors import UserError

ASKED = {
    **{"arm": "arm", "metric": "loss", "better": "lower", "treatment": "b", "baseline": "a"},
    **{"run": "id", "step": "step"},
}


def curves(runs=4, **last):
    """Rows of losses that fall by 0.1 a step; `last` is the last step of an arm's runs."""
    return pd.DataFrame(
        {"arm": arm, "id": f"{arm}{seed}", "seed": seed, "step": step, "loss": 4 - step / 10}
        for arm in "ab"
        for seed in range(runs)
        for step in range(last.get(arm, 10) + 1)
    )


def judged(rows, **more):
    """The claim, the mean result of each arm, and the values of each caveat by its code."""
    verdict = ablate.compare(rows, **{**ASKED, **more}).to_dict()
    arms = {arm["label"]: arm["metrics"].get("result", {}).get("mean") for arm in verdict["arms"]}
    return verdict["claims"][0], arms, {c["code"]: c["values"] for c in verdict["caveats"]}


def failed(claim):
    return {arm: count["runs"] for arm, count in claim["failed_to_learn"].items()}


@pytest.mark.parametrize("column", ["arm", "group", "pair"])
def test_a_run_belongs_to_a_single_arm_dataset_and_pair(column):
    rows = curves().assign(data=lambda frame: frame.step % 2)
    asked = {"arm": {"run": "seed"}, "group": {"group": "data"}, "pair": {"pair": "data"}}[column]
    with pytest.raises(UserError, match="arm|data"):
        ablate.compare(rows, **ASKED | asked)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_last_the_best_or_the_first_row_at_a_value_counts(better):
    sign = 1 if better == "lower" else -1
    rows = curves().assign(loss=lambda frame: sign * frame.loss)
    rows.loc[rows.arm == "b", "loss"] -= sign * 0.05 * rows.step[rows.arm == "b"]
    assert judged(rows, better=better)[1] == pytest.approx({"a": sign * 3, "b": sign * 2.5})
    claim, steps, _ = judged(rows, better=better, reach=sign * 3.2)
    assert steps == pytest.approx({"a": 8, "b": 16 / 3})
    assert claim["effect"] == pytest.approx(8 - 16 / 3)
    best = judged(rows.assign(by=-sign * rows.step), better=better, take="best", by="by")
    assert best[1] == pytest.approx({"a": sign * 3, "b": sign * 2.5})


def test_the_best_row_is_chosen_among_rows_with_both_values():
    rows = curves().assign(score=lambda frame: (frame.step - 6) ** 2.0)
    rows.loc[rows.id == "b0", "score"] = None
    claim, arms, _ = judged(rows, take="best", by="score")
    assert failed(claim) == {"a": 0, "b": 1}
    assert arms == pytest.approx({"a": 3.4, "b": 3.4})


@pytest.mark.parametrize(("last", "status"), [(3, "refuted"), (5, "supported")])
def test_a_run_that_ends_before_the_target_has_no_number_of_steps(last, status):
    rows = curves(8, b=last)
    rows.loc[rows.arm == "a", "loss"] += 0.25
    claim, _, codes = judged(rows, reach=3.5)
    assert claim["verdict"] == status
    assert failed(claim) == {"a": 0, "b": 8 if last < 5 else 0}
    assert codes["ended_early"]["runs"] == 8

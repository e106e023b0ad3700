"""Tables with a row per run and step: which row of a run counts, and which tables are refused."""

import pandas as pd
import pytest

import ablate
from ablate.errors import UserError

ASKED = {
    "arm": "arm",
    "metric": "loss",
    "better": "lower",
    "treatment": "b",
    "baseline": "a",
    "run": "id",
    "step": "step",
}


def curves(runs=4, **last):
    """Rows of losses that fall by 0.1 a step; `last` is the last step of an arm's runs."""
    return pd.DataFrame(
        {"arm": arm, "id": f"{arm}{seed}", "seed": seed, "step": step, "loss": 4 - step / 10}
        for arm in "ab"
        for seed in range(runs)
        for step in range(last.get(arm, 10) + 1)
    )


@pytest.mark.parametrize("column", ["arm", "group", "pair"])
def test_a_run_belongs_to_a_single_arm_dataset_and_pair(column):
    rows = curves().assign(data=lambda frame: frame.step % 2)
    asked = {"arm": {"run": "seed"}, "group": {"group": "data"}, "pair": {"pair": "data"}}[column]
    with pytest.raises(UserError, match=r"have two values of (arm|data) \(. and .\)"):
        ablate.compare(rows, **ASKED | asked)


def test_the_best_row_is_chosen_among_rows_with_both_values():
    rows = curves().assign(score=lambda frame: (frame.step - 6) ** 2.0)
    rows.loc[rows.id == "b0", "score"] = None
    (claim,) = ablate.compare(rows, **ASKED, take="best", by="score").to_dict()["claims"]
    assert [arm["without_value"] for arm in claim["arms"]] == [1, 0]
    assert [arm["mean"] for arm in claim["arms"]] == pytest.approx([3.4, 3.4])


@pytest.mark.parametrize(("last", "status"), [(3, "refuted"), (5, "supported"), (9, "supported")])
def test_a_run_that_ends_before_the_target_has_no_number_of_steps(last, status):
    rows = curves(8, b=last)
    rows.loc[rows.arm == "a", "loss"] += 0.25
    verdict = ablate.compare(rows, **ASKED, reach=3.5)
    (claim,) = verdict.to_dict()["claims"]
    assert claim["verdict"] == status
    assert claim["arms"][0]["without_value"] == (8 if last < 5 else 0)
    (doubt,) = [s for s in verdict.trust if "8 of 16 runs have their last loss at an earlier" in s]
    assert "planned to be shorter, they did not fail: first cut all runs" in doubt


def test_runs_that_ended_early_are_counted():
    rows = curves()
    assert not any("earlier step" in line for line in ablate.compare(rows, **ASKED).trust)
    rows = rows[(rows.id != "b0") | (rows.step < 4)]
    trust = ablate.compare(rows, **ASKED).trust
    assert any("1 of 8 runs have their last loss at an earlier step" in line for line in trust)


@pytest.mark.parametrize("column", ["step", "_step", "epoch"])
def test_rows_that_may_be_steps_are_named_unless_run_and_step_are_given(column):
    rows = curves().rename(columns={"step": column})
    asked = {key: value for key, value in ASKED.items() if key not in ("run", "step")}

    def doubts(frame, **more):
        return [s for s in ablate.compare(frame, **asked, **more).trust if "each row counts" in s]

    assert len(doubts(rows)) == 1
    assert not doubts(rows, run="id", step=column)
    assert not doubts(rows[rows[column] == 10])
    assert not doubts(rows, where={column: 10})
    assert not doubts(rows.assign(run=range(len(rows))))


def test_values_in_separate_rows_choose_no_row():
    rows = curves().assign(score=1.0)
    rows.loc[rows.step % 2 == 0, "loss"] = None
    rows.loc[rows.step % 2 == 1, "score"] = None
    with pytest.raises(UserError, match="no row has both loss and a finite score"):
        ablate.compare(rows, **ASKED, take="best", by="score")
    with pytest.raises(UserError, match="by=score: .* has the text '0,5'"):
        ablate.compare(rows.assign(score="0,5"), **ASKED, take="best", by="score")


def test_two_rows_of_a_run_at_one_step_are_counted():
    rows = curves()
    twice = pd.concat([rows, rows[rows.step == 10].assign(loss=9.0)])
    verdict = ablate.compare(twice, **ASKED)
    assert verdict.to_dict()["claims"][0]["arms"][0]["mean"] == 9.0
    assert any("8 rows repeat the id and the step of another row" in line for line in verdict.trust)
    assert not any("of another row" in line for line in ablate.compare(rows, **ASKED).trust)


def test_an_arm_that_only_the_first_row_of_a_run_names_is_refused():
    rows = curves().assign(arm=lambda frame: frame.arm.where(frame.step == 0))
    with pytest.raises(UserError, match="rows that count have no value in arm; .* into every"):
        ablate.compare(rows, **ASKED)

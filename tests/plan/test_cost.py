"""How long a sweep will take."""

from pathlib import Path

import pytest

from ablate.plan.registry import PER_CELL, PER_SWEEP, Evaluated, Row, RunSignature, cost, wall


def kin(variant="a", size="s"):
    return RunSignature(arm=variant, variant=variant, size=size, regime=size)


def row(seed=0, metrics=None, **given):
    """A run of 100 updates of 0.5 s and validations of 2 s, tested for 7 s."""
    tested = {"beam": Evaluated(7.0, {}, "", Path())}
    defaults = {
        "kin": kin(),
        "status": "finished",
        "per_update": 0.5,
        "per_validation": 2.0,
    }
    defaults |= {"rest": 3.0, "here": True, "sample": False, "folder": Path(), "tested": tested}
    return Row(seed=seed, metrics=metrics or {}, **(defaults | given))


def test_cells_are_dealt_in_their_order_and_stages_wait_for_one_another():
    assert wall([[3.0, 1.0, 1.0, 1.0]], 2) == PER_SWEEP + 3
    assert wall([[1.0, 1.0, 4.0]], 2) == PER_SWEEP + 5
    assert wall([[2.0], [3.0]], 8) == PER_SWEEP + 5


def test_the_time_of_a_run_is_that_of_its_variant_with_another_number_of_updates():
    rows = [row(), row(kin=kin("b"), per_update=9.0)]
    estimate = cost(kin(), 200, 4, "beam", rows)
    assert estimate.seconds == pytest.approx(PER_CELL + 200 * 0.5 + 4 * 2.0 + 3.0 + 7.0)
    assert estimate.known_by == "1 earlier run of this variant"


def test_a_variant_that_never_ran_is_as_slow_as_the_others_of_its_size():
    rows = [row(), row(per_update=0.7), row(kin=kin("b"), per_update=9.0)]
    estimate = cost(kin("new"), 100, 4, None, rows)
    assert estimate.seconds == pytest.approx(PER_CELL + 70.0 + 8.0 + 3.0)
    assert estimate.guessed and not cost(kin(), 100, 4, None, rows).guessed
    assert cost(kin("new", size="other"), 100, 4, None, rows) is None


def test_runs_of_another_machine_say_nothing_and_short_ones_only_where_there_are_no_others():
    assert cost(kin(), 100, 4, None, [row(here=False)]) is None
    short = row(sample=True, per_update=1.0)
    assert cost(kin(), 100, 4, None, [short]).known_by == "1 short run of this variant"
    assert cost(kin(), 100, 4, None, [short, row()]).seconds == pytest.approx(PER_CELL + 61.0)


def test_a_run_of_two_budgets_is_tested_at_both():
    estimate = cost(kin(), 100, 4, "beam", [row()], tests=2)
    assert estimate.seconds == pytest.approx(PER_CELL + 100 * 0.5 + 4 * 2.0 + 3.0 + 2 * 7.0)


def test_an_arm_that_differs_in_testing_alone_is_only_tested():
    estimate = cost(kin(), 100, 4, "beam", [row()], trains=False)
    assert estimate.seconds == pytest.approx(PER_CELL + 7.0)

"""Laws of every schedule, and what each one is."""

import pytest

from ablate.config import CONF
from ablate.config.construct import construct
from ablate.errors import UserError
from ablate.optimizer import Cosine, WarmupStableDecay

SCHEDULES = sorted(path.stem for path in CONF.glob("schedule/*.yaml"))


@pytest.mark.parametrize("level", SCHEDULES)
def test_factors_are_shares_and_one_of_them_is_the_peak(level, compose):
    schedule = construct(
        compose(f"schedule={level}", "budget.steps=50", "budget.warmup=10").schedule
    )
    factors = [schedule(step) for step in range(1, 51)]
    assert all(0 <= factor <= 1 for factor in factors)
    assert max(factors) == 1


def test_wsd_climbs_stays_and_falls():
    schedule = WarmupStableDecay(warmup=4, steps=20, decay=0.25)
    climbing = [0.25, 0.5, 0.75, 1]
    falling = [0.8, 0.6, 0.4, 0.2, 0]
    expected = [*climbing, *[1] * 11, *falling]
    assert [schedule(step) for step in range(1, 21)] == pytest.approx(expected)
    assert schedule(25) == 0


def test_wsd_before_its_decay_is_the_beginning_of_a_longer_run():
    short, long = (WarmupStableDecay(warmup=4, steps=steps, decay=0.2) for steps in (50, 100))
    assert [short(step) for step in range(1, 41)] == [long(step) for step in range(1, 41)]


def test_wsd_without_warmup_or_stable_phase():
    assert WarmupStableDecay(warmup=0, steps=10, decay=0.5)(1) == 1
    assert WarmupStableDecay(warmup=5, steps=10, decay=0.5)(6) == pytest.approx(0.8)


@pytest.mark.parametrize("warmup", [-1, 9])
def test_wsd_refuses_a_decay_within_the_warmup(warmup):
    with pytest.raises(UserError, match=f"schedule.warmup={warmup}"):
        WarmupStableDecay(warmup=warmup, steps=10, decay=0.2)


@pytest.mark.parametrize("final", [0.0, 0.5])
def test_a_cosine_ends_at_its_final_share(final):
    schedule = Cosine(warmup=4, steps=20, final=final)
    assert [schedule(step) for step in range(1, 5)] == [0.25, 0.5, 0.75, 1]
    assert schedule(12) == pytest.approx((1 + final) / 2)
    assert schedule(20) == schedule(99) == pytest.approx(final)

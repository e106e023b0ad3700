"""How single figures come about, on numbers that are known."""

import pytest


class Hands:
    """A clock that stands still unless it is told to go on."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


def test_time_goes_to_the_innermost_part():
    from lab.bench.overhead import REST, Clock

    hands = Hands()
    clock = Clock(hands)
    hands.time = 5.0
    clock.restart()

    def closure():
        hands.time += 2
        with clock.part("forward"):
            hands.time += 3

    def step():
        hands.time += 1
        clock.timed(REST, closure)()

    clock.timed("optimiser", step)()
    hands.time += 4
    assert clock.shares() == {"optimiser": 0.1, REST: 0.6, "forward": 0.3}


@pytest.mark.slow
def test_the_shares_of_a_real_training_are_all_there(small, compose):
    from lab.bench.overhead import WARM_UP, measure

    config = compose(*small, f"budget.steps={WARM_UP + 9}", "budget.validate_every=1000")
    shares = measure(config, 5)
    assert set(shares) == {"batches", "forward", "backward", "optimiser", "overhead"}
    assert sum(shares.values()) == pytest.approx(1)
    assert all(share > 0 for share in shares.values())


def test_seconds_beyond_own_work_are_those_of_the_places_of_a_sweep():
    from lab.bench.sweep_overhead import beyond

    seconds = {"training": 5.0, "validation": 1.0, "pictures": 0.2, "test": 2.0}
    runs = [
        {"started": 10.0 * (i // 2) + i % 2, "wall_seconds": 8.5, "seconds": seconds}
        for i in range(6)
    ]
    recorded, whole = beyond(runs[::-1], at_once=2)
    assert (recorded, whole) == (0.5, 2.0)


def test_the_exponent_is_that_of_the_larger_half():
    from lab.bench.growth_figure import exponent

    values = [1, 2, 4, 8, 16, 32]
    speed = [100, 100, 100, 80, 20, 5]  # flat at first, then value^-2
    assert exponent(values, speed) == pytest.approx(-2)
    assert exponent([1, 2], [3, 6]) == pytest.approx(1)


def test_generated_batches_have_the_same_tokens_at_every_length():
    from lab.bench.growth_point import TOKENS, Generated

    for length in (64, 4096):
        batch = next(iter(Generated(length, 1000).train_dataloader()))
        assert batch.inputs.src.shape == batch.targets.shape == (TOKENS // length, length)
        assert int((batch.targets != 0).sum()) == TOKENS
        assert bool((batch.inputs.tgt_in[:, 1:] == batch.targets[:, :-1]).all())

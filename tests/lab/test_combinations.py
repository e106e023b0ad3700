"""The simulation of studies of many changes at once."""

import pytest

from lab.calibration import combinations


def test_intervals_of_simulated_studies_contain_the_truth(monkeypatch):
    monkeypatch.setattr(combinations, "PER_PLAN", 8)
    monkeypatch.setattr(combinations, "SPLITS", 2)
    case = combinations.Case(0.005, sensitive=True, failures=(0.03, 0.15))
    rates = combinations.simulate(case, 8)
    for effects in (rates.average, rates.tuned):
        assert effects.covered >= 0.9 and effects.actual < effects.error < 2 * effects.actual
    assert rates.average.power > 0.9
    assert abs(rates.bias) < 0.2


def test_one_at_a_time_has_the_power_of_a_paired_t_test():
    assert combinations.one_at_a_time(400, 25, 0.0) == pytest.approx(0.025)
    assert combinations.one_at_a_time(400, 75, 0.02) == pytest.approx(0.61, abs=0.01)

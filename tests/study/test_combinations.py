"""Effects of many changes at once, from runs whose truth is known."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from ablate.stats.combinations.effects import Change, Runs, additive, average_effects, with_text
from ablate.stats.combinations.interaction import interaction, interaction_variance, strongest_pairs
from ablate.stats.combinations.plan import Pair, Rate, draw, imbalance
from ablate.stats.combinations.tuned import best_rate, expected_errors, predict, tuned_effects

SIZES = (2, 2, 3, 2, 2)  # the last is the learning rate, the first is the optimizer
RATE = Rate(factor=4, by=0)
PLAN = draw(120, SIZES, [], 12, 1, RATE)
RUNS = Runs.of(PLAN, SIZES, RATE)


def of_levels(runs, effect, deviation=0.0, seed=0):
    """Return scores with the effects of a function of the levels, and noise."""
    noise = deviation * np.random.default_rng(seed).standard_normal(len(runs.levels))
    return (np.array([effect(*levels) for levels in runs.levels]) + noise)[:, None]


def test_a_plan_is_balanced_and_avoids_excluded_pairs():
    excluded = [Pair(2, 2, 3, 1)]
    plan = draw(120, SIZES, excluded, 12, 7, RATE)
    assert imbalance(plan.levels, excluded) == (0, pytest.approx(1.0, abs=1.0))
    assert not ((plan.levels[:, 2] == 2) & (plan.levels[:, 3] == 1)).any()
    assert np.bincount(plan.third[plan.recipes_of_runs()]).tolist() == [44, 44, 44]
    assert (plan.levels == draw(120, SIZES, excluded, 12, 7, RATE).levels).all()
    assert (plan.levels != draw(120, SIZES, excluded, 12, 8, RATE).levels).any()


def test_average_effects_agree_with_statsmodels():
    runs = Runs.of(replace(PLAN, repeated=np.zeros(120, bool)), SIZES, RATE)
    scores = of_levels(runs, lambda a, b, c, d, r: 0.3 * b - 0.2 * (c == 2) + 0.1 * r * a, 0.1)
    fit = sm.OLS(scores[:, 0], additive(runs).design_matrix).fit(cov_type="HC3")
    effects = average_effects(runs, scores)
    chosen = slice(1, 1 + len(runs.changes))
    assert effects.effect[:, 0] == pytest.approx(fit.params[chosen])
    assert effects.error[:, 0] == pytest.approx(fit.bse[chosen] * (119 / 120) ** 0.5)


def test_errors_are_the_jackknife_over_recipes():
    scores = of_levels(RUNS, lambda *levels: levels[1], 0.1)
    effects = average_effects(RUNS, scores)
    without = [
        average_effects(RUNS.subset(RUNS.recipe != g), scores[RUNS.recipe != g]).effect
        for g in range(120)
    ]
    squares = ((np.stack(without) - effects.effect) ** 2).sum(0)
    assert effects.error == pytest.approx((119 / 120 * squares) ** 0.5)


def test_errors_cover_the_choice_of_the_text():
    """Without the part of the text, most intervals miss the truth."""
    rng, model, covered = np.random.default_rng(0), additive(RUNS), []
    has_change = RUNS.levels[:, 1, None] == 1
    for _ in range(300):
        of_text = 0.3 * rng.standard_normal(32) * has_change
        blocks = of_text + 0.05 * rng.standard_normal((len(RUNS.levels), 1))
        blocks = blocks + 0.2 * rng.standard_normal(blocks.shape)
        scores = np.concatenate((blocks.mean(1, keepdims=True), blocks), 1)
        estimates = model.estimates(np.eye(model.design_matrix.shape[1])[[2]], scores)
        widths = with_text(estimates).half_width(0.95), estimates.half_width(0.95)
        covered.append([abs(estimates.effect[0, 0]) <= width[0, 0] for width in widths])
    assert RUNS.changes[1] == Change(1, 1)
    both, recipes_alone = np.mean(covered, 0)
    assert both == pytest.approx(0.95, abs=0.03) and recipes_alone < 0.6


def test_a_text_without_effect_adds_nothing():
    """The errors over recipes contain the chance variation of blocks within runs already."""
    blocks = np.random.default_rng(0).standard_normal((len(RUNS.levels), 400))
    scores = np.concatenate((blocks.mean(1, keepdims=True), blocks), 1)
    recipes_alone = average_effects(RUNS, scores)
    assert with_text(recipes_alone).error == pytest.approx(recipes_alone.error[:, :1], rel=0.1)


@pytest.mark.parametrize(("recipes", "quantity"), [(0, "effect"), (1, "error")])
def test_a_level_with_too_few_runs_is_not_estimated(recipes, quantity):
    kept = np.isin(RUNS.recipe, np.flatnonzero(PLAN.levels[:, 2] == 2)[:recipes])
    learned = (RUNS.levels[:, 2] != 2) | kept
    effects = average_effects(RUNS.subset(learned), np.zeros((int(learned.sum()), 1)))
    lost = [change == Change(2, 2) for change in RUNS.changes]
    assert np.isnan(getattr(effects, quantity)[:, 0]).tolist() == lost


def test_tuned_effects_compare_levels_at_their_best_rates():
    """The change is better at its best rate, and worse on average."""
    scores = of_levels(RUNS, lambda a, b, c, d, r: [[0, 0.1], [0.4, -0.1]][b][r], 1e-6)
    place = RUNS.changes.index(Change(1, 1))
    assert tuned_effects(RUNS, scores, scores, 0).effect[place, 0] == pytest.approx(-0.1, abs=1e-3)
    assert average_effects(RUNS, scores).effect[place, 0] == pytest.approx(0.1, abs=0.05)
    for optimizer, level in itertools.product((0, 1), (0, 1)):
        recipe = np.array([optimizer, level, 0, 0, 0])
        assert best_rate(RUNS, scores[:, 0], recipe) == level


def test_the_factor_of_the_rates_is_compared_at_the_best_rate_of_each_level():
    scores = of_levels(RUNS, lambda a, b, c, d, r: [[0.2, 0.0], [0.1, 0.5]][a][r], 1e-6)
    tuned = tuned_effects(RUNS, scores, scores, 0, factor=0)
    assert tuned.effect[:, 0] == pytest.approx([0.1], abs=1e-3)


def test_interaction_beyond_noise_is_measured():
    plan = draw(600, (2,) * 6, [], 60, seed=1)
    runs = Runs.of(plan, (2,) * 6)
    rng = np.random.default_rng(1)
    sizes = {pair: 0.1 * rng.standard_normal() for pair in itertools.combinations(range(6), 2)}
    true = np.sqrt(sum(size**2 for size in sizes.values()) / 16)

    def effect(*levels):
        return sum(size * levels[f] * levels[g] for (f, g), size in sizes.items())

    measured = interaction(runs, of_levels(runs, effect, 0.05)[:, 0])
    assert measured.interval[0] <= true <= measured.interval[1]
    assert measured.deviation == pytest.approx(true, rel=0.2)
    assert measured.run_deviation == pytest.approx(0.05, rel=0.2)
    scale = interaction_variance(runs) ** 0.5
    assert measured.pair_deviation == pytest.approx(measured.deviation / scale)
    without = interaction(runs, of_levels(runs, lambda *levels: sum(levels), 0.05)[:, 0])
    assert without.interval[0] == 0 and without.share > 0.95


def test_a_pair_that_interacts_is_found_and_tested():
    scores = of_levels(RUNS, lambda a, b, c, d, r: 0.3 * b * (c == 2), 0.05)[:, 0]
    best = strongest_pairs(RUNS, scores)[0]
    assert best.pair == (Change(1, 1), Change(2, 2))
    assert best.effect == pytest.approx(0.3, abs=0.1) and best.p < 0.001
    null = strongest_pairs(RUNS, of_levels(RUNS, lambda *levels: 0.0, 0.05)[:, 0])
    assert min(test.p for test in null) > 0.05


def test_the_half_that_finds_a_pair_does_not_test_it():
    scores = of_levels(RUNS, lambda a, b, c, d, r: 0.3 * b * (c == 2), 0.05)[:, 0]
    noise = of_levels(RUNS, lambda *levels: 0.0, 0.05)[:, 0]
    best = strongest_pairs(RUNS, np.where(RUNS.half == 0, scores, noise))[0]
    assert best.selected == pytest.approx(0.3, abs=0.1) and abs(best.effect) < 0.1


def test_the_prediction_takes_the_best_levels():
    deviations = 0.01 * np.eye(5)
    effects = np.array([-0.12, 0.03, 0.05, -0.06, np.nan])
    best = predict(RUNS.changes, effects, deviations)
    assert best.changes == (Change(0, 1), Change(2, 2))
    assert best.effect == pytest.approx(-0.18, abs=0.002)
    assert best.error == pytest.approx(0.0141, rel=0.02)
    assert best.rest_errors == pytest.approx((0.01, 0.01), rel=0.02)


def test_the_prediction_is_unbiased_where_the_best_levels_are_chance():
    """The naive sum of the estimates of the chosen levels promises a gain of 0.4 errors each."""
    rng = np.random.default_rng(0)
    changes = [Change(factor, 1) for factor in range(20)]
    noise = 0.01 * rng.standard_normal((60, 20))
    predicted = [predict(changes, effects, 0.01 * np.eye(20)).effect for effects in noise]
    assert np.minimum(noise, 0).sum(1).mean() < -0.07
    assert np.mean(predicted) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("tuned", [False, True])
def test_the_forecast_is_the_spread_of_effects(tuned):
    rng = np.random.default_rng(0)
    scores = 0.3 * rng.standard_normal((len(RUNS.levels), 400))
    certain = scores + 9.0 * (RUNS.levels[:, 4, None] == 1)  # the first rate is always chosen
    effects = tuned_effects(RUNS, certain, scores, 0, 2) if tuned else average_effects(RUNS, scores)
    forecast = expected_errors(RUNS, 0.3, 0.0, tuned=tuned)
    assert effects.effect.std(1) == pytest.approx(forecast, rel=0.15)


def test_the_error_contains_the_choice_between_almost_equal_rates():
    """An error that ignores the choice is too small."""
    rng = np.random.default_rng(0)
    validation = rng.standard_normal((len(RUNS.levels), 150)) + 0.3 * RUNS.levels[:, 4, None]
    effects = tuned_effects(RUNS, validation, validation, 0, 4)
    spread = (effects.effect**2).mean() ** 0.5
    assert (effects.error**2).mean() ** 0.5 > spread
    assert (np.abs(effects.effect) > effects.half_width(0.95)).mean() <= 0.06

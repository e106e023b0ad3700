"""Simulate studies of many changes at once whose true effects are known.

Each study has 18 factors with 24 changes and a learning rate with two values for each of two
optimizers; 42 of its 360 recipes run twice. Eleven changes have no effect. The deviation between
runs is the median of the arms of experiments/modern_screen, as is the correlation of validation
and test scores.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from ablate.stats.combinations.effects import Change, Estimates, Runs, additive, average_effects
from ablate.stats.combinations.interaction import interaction
from ablate.stats.combinations.plan import Rate, draw
from ablate.stats.combinations.tuned import predict, tuned_effects
from lab.calibration.shapes import RATIO, Arm, lognormal, normal

SIZES = (*[2] * 12, *[3] * 6, 2)
RATE = Rate(factor=18, by=0)
RECIPES, REPEATED = 360, 42
DEVIATION = 0.0141  # between runs of an arm, in bits per byte
PAIRED = 0.0151  # of the difference between two arms with the same seed
CORRELATION = 0.89  # of validation and test scores of the runs of an arm
EFFECT = 0.02  # the margin of the screen
SENSITIVE, PENALTY = 6, 0.1  # factor whose effect depends on the rate, and by how much
NOISY, FAILING = 1, 2  # factors whose change varies more, or fails more often
PREDICTED = 0.24  # true gain of the best recipe
PER_PLAN = 100  # data sets of each plan
SPLITS = 5  # half of the usual number, which makes the error slightly larger
KINDS = "average", "tuned"

Effects = Float[np.ndarray, " changes"]
Draws = Float[np.ndarray, "runs draws"]


@dataclass(frozen=True)
class Case:
    """The truth of simulated studies.

    Args:
        interaction: standard deviation of the interaction of each two changes.
        gap: loss of the second learning rate.
        sensitive: whether the levels of one factor have different best rates.
        noise: distribution of the noise; its long tail points to better scores.
        ratio: ratio of the standard deviations of the two levels of a factor.
        failures: probabilities that a run fails, with most levels and with the level that fails
            more often.
    """

    interaction: float = 0.0
    gap: float = 0.03
    sensitive: bool = False
    noise: Arm = normal
    ratio: float = 1.0
    failures: tuple[float, float] = (0.0, 0.0)


CASES = {
    "effects add": Case(),
    "interactions 0.005": Case(0.005),
    "interactions 0.01": Case(0.01),
    "0.005, two rates almost equal": Case(0.005, gap=0.008),
    "0.005, a change with another best rate": Case(0.005, sensitive=True),
    "0.005, skewed noise": Case(0.005, noise=lognormal(0.65)),
    "skewed noise, variance x6": Case(noise=lognormal(0.65), ratio=RATIO),
    "0.005, 3 % fail, 15 % of one level": Case(0.005, failures=(0.03, 0.15)),
}


class EffectRates(NamedTuple):
    """How often intervals of effects were right, and the size of errors.

    Attributes:
        false: intervals of changes without effect that exclude 0.
        covered: intervals that contain the true effect.
        error: root mean square of the standard errors.
        actual: root mean square of the differences between estimates and true effects.
        power: intervals of changes with an effect of 0.02 that exclude 0.
    """

    false: float
    covered: float
    error: float
    actual: float
    power: float


@dataclass(frozen=True)
class Rates:
    """How often results were right, as proportions where nothing else is said.

    Attributes:
        average: rates of average effects.
        tuned: rates of effects at chosen learning rates.
        interaction: 95 % intervals of the deviation of the interaction that contain it.
        bias: mean of predicted minus true gain of the chosen recipe, divided by the true gain of
            the best recipe.
        predicted: 95 % intervals of the predicted gain that contain the sum of the true effects.
    """

    average: EffectRates
    tuned: EffectRates
    interaction: float
    bias: float
    predicted: float


def true_effects(changes: list[Change]) -> Effects:
    """Return the effects at the best learning rates; 0 for eleven of the changes."""
    effects = []
    for factor, level in changes:
        size = EFFECT if factor % 2 else -EFFECT
        none = 1 <= factor <= 5 or (SIZES[factor] == 3 and level == 1)
        effects.append(-0.12 if factor == RATE.by else 0.0 if none else size)
    return np.array(effects)


def simulate(case: Case, studies: int, seed: int = 0) -> Rates:
    """Return how often the results of simulated studies, `PER_PLAN` of each plan, were right."""
    plans = [_plan(case, seed + number) for number in range(max(1, studies // PER_PLAN))]
    average, tuned = (_mean([getattr(plan, kind) for plan in plans]) for kind in KINDS)
    forecasts = np.mean([(plan.interaction, plan.bias, plan.predicted) for plan in plans], 0)
    return Rates(average, tuned, *forecasts.tolist())


def _mean(rates: list[EffectRates]) -> EffectRates:
    means, squares = np.mean(rates, 0), np.mean(np.square(rates), 0) ** 0.5
    return EffectRates(means[0], means[1], squares[2], squares[3], means[4])


def one_at_a_time(runs: int, arms: int, effect: float) -> float:
    """Return the power of a paired t test at 5 % if the runs are shared equally by all arms."""
    seeds = runs // arms
    quantile = stats.t.ppf(0.975, seeds - 1)
    return float(stats.nct.sf(quantile, seeds - 1, effect / (PAIRED / seeds**0.5)))


def _plan(case: Case, seed: int) -> Rates:
    rng = np.random.default_rng(seed)
    runs = Runs.of(draw(RECIPES, SIZES, [], REPEATED, seed, RATE), SIZES, RATE)
    truth = true_effects(runs.changes)
    mean = _means(case, runs, truth, rng) + _left_over(case, runs, seed)
    validation, scores = (mean + noise for noise in _noise(case, runs, rng))
    learned = _learned(case, runs, rng)
    runs, validation, scores = runs.subset(learned), validation[learned], scores[learned]
    tuned = tuned_effects(runs, validation, scores, seed, SPLITS)
    at_best = truth + _at_best_rates(case) * (np.array(runs.changes) == (SENSITIVE, 1)).all(1)
    effects = _of(average_effects(runs, scores), truth), _of(tuned, at_best)
    bias, predicted = _predictions(runs, tuned, at_best)
    selected = _interactions(runs, scores, _deviation(case, seed))
    return Rates(*effects, selected, bias, predicted)


def _of(estimates: Estimates, truth: Effects) -> EffectRates:
    half, effect = estimates.half_width(0.95), estimates.effect
    error = effect - truth[:, None]
    significant = np.abs(effect) > half
    return EffectRates(
        false=float(significant[truth == 0].mean()),
        covered=float((np.abs(error) <= half).mean()),
        error=float((estimates.error**2).mean() ** 0.5),
        actual=float((error**2).mean() ** 0.5),
        power=float(significant[np.isclose(np.abs(truth), EFFECT)].mean()),
    )


def _means(case: Case, runs: Runs, truth: Effects, rng: np.random.Generator) -> Draws:
    has = np.stack([runs.levels[:, f] == level for f, level in runs.changes], 1)
    slow = case.gap * (runs.levels[:, RATE.factor] == 1)
    thirds = 0.01 * rng.standard_normal((3, PER_PLAN))
    return np.asarray((has @ truth + slow)[:, None] + thirds[runs.third])


def _left_over(case: Case, runs: Runs, seed: int) -> Draws:
    """Return what the sum of effects leaves: interactions whose mean is 0 for every level."""
    rng = np.random.default_rng(seed)
    has = np.stack([runs.levels[:, f] == level for f, level in runs.changes], 1)
    centred = has - [1 / SIZES[change.factor] for change in runs.changes]
    factors = np.array([change.factor for change in runs.changes])
    first, second = np.triu_indices(len(factors), 1)
    apart = factors[first] != factors[second]
    products = centred[:, first[apart]] * centred[:, second[apart]]
    sizes = case.interaction * rng.standard_normal((products.shape[1], PER_PLAN))
    slow = runs.levels[:, RATE.factor] - 0.5
    sensitive = case.sensitive * PENALTY * (runs.levels[:, SENSITIVE] - 0.5) * slow
    return np.asarray(products @ sizes + sensitive[:, None])


def _deviation(case: Case, seed: int) -> Float[np.ndarray, " draws"]:
    """Return the standard deviation of `_left_over` over many random recipes."""
    levels = np.random.default_rng(seed).integers(0, SIZES, (4000, len(SIZES)))
    none = np.zeros(len(levels), int)
    return np.asarray(_left_over(case, Runs(levels, none, none, none, SIZES, RATE), seed).std(0))


def _at_best_rates(case: Case) -> float:
    """Return how much better the sensitive change is at the best rates than on average."""
    rates = np.array([0.0, 1.0])
    without, with_change = (
        case.gap * rates + case.sensitive * PENALTY * (level - 0.5) * (rates - 0.5)
        for level in (0, 1)
    )
    return float(with_change.min() - without.min())


def _noise(case: Case, runs: Runs, rng: np.random.Generator) -> tuple[Draws, Draws]:
    """Return the noise of validation and test scores."""
    shape = (len(runs.levels), PER_PLAN)
    scale = DEVIATION * np.where(runs.levels[:, NOISY] == 1, case.ratio, 1.0)[:, None]
    test, other = (-scale * case.noise(shape, rng) for _ in range(2))
    return CORRELATION * test + (1 - CORRELATION**2) ** 0.5 * other, test


def _learned(case: Case, runs: Runs, rng: np.random.Generator) -> Bool[np.ndarray, " runs"]:
    usual, often = case.failures
    rates = np.where(runs.levels[:, FAILING] == 1, often, usual)
    return np.asarray(rng.random(len(rates)) >= rates)


def _interactions(runs: Runs, scores: Draws, truth: Float[np.ndarray, " draws"]) -> float:
    model = additive(runs)
    intervals = np.array([interaction(runs, column, model).interval for column in scores.T])
    return float(((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).mean())


def _predictions(runs: Runs, tuned: Estimates, truth: Effects) -> tuple[float, float]:
    places = {change: k for k, change in enumerate(runs.changes)}
    bias, covered, quantile = [], [], stats.t.ppf(0.975, tuned.df.min())
    for effect, deviations in zip(tuned.effect.T, np.moveaxis(tuned.deviations, 2, 0), strict=True):
        best = predict(runs.changes, effect, deviations)
        true = sum(truth[places[change]] for change in best.changes)
        bias.append((true - best.effect) / PREDICTED)
        covered.append(abs(best.effect - true) <= quantile * best.error)
    return float(np.mean(bias)), float(np.mean(covered))

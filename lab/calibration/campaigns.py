"""Simulate campaigns of an agent that tries candidates, with the referee and without it.

In a campaign, a candidate that is accepted replaces the baseline. Noise is normal, or resampled
from the residuals of groups of speed-run records. Effects are in standard deviations of the noise.
Lower results are better.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ablate.referee.campaign import DISCARD, KEEP, MORE, Rules, analyse

FEWEST = 8  # smallest number of runs of a group whose residuals are resampled
Draw = Callable[[np.random.Generator, int], Float[np.ndarray, " _"]]


@dataclass
class Campaign:
    """The result of a campaign.

    Attributes:
        kept: number of candidates that were kept.
        wrong: number of candidates that were kept although they are no improvement.
        tried: number of candidates that were tried.
        candidate_runs: number of runs of all candidates.
        baseline_runs: number of runs of all baselines.
        bias: estimated minus true mean of the last baseline, in standard deviations.
        baselines: number of baselines with the referee, including the first one.
    """

    kept: int = 0
    wrong: int = 0
    tried: int = 0
    candidate_runs: int = 0
    baseline_runs: int = 0
    bias: float = 0.0
    baselines: int = 1


def normal(rng: np.random.Generator, runs: int) -> Float[np.ndarray, " _"]:
    """Return the standard normal noise of `runs` runs."""
    return rng.standard_normal(runs)


def residuals(path: Path) -> list[Float[np.ndarray, " _"]]:
    """Return one array of residuals for each large set of runs in a CSV file.

    A set has the same `group` and `final_step`, and at least FEWEST runs. Its residuals are the
    values of `val_loss`, scaled to a mean of 0 and a standard deviation of 1. Sets without
    variation are left out.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            groups.setdefault((row["group"], row["final_step"]), []).append(float(row["val_loss"]))
    large = [np.array(values) for values in groups.values() if len(values) >= FEWEST]
    return [(values - values.mean()) / values.std() for values in large if values.std() > 0]


def resampled(values: Float[np.ndarray, " _"]) -> Draw:
    """Return a function that draws noise from these values, with replacement."""
    return lambda rng, runs: rng.choice(values, runs)


def with_referee(
    rules: Rules, draw: Draw, rng: np.random.Generator, effects: list[float], stop_at: int = 10**9
) -> Campaign:
    """Simulate a campaign in which the referee decides about each candidate.

    Args:
        rules: the rules of the referee.
        draw: draws the noise of a number of runs.
        rng: random generator.
        effects: true improvement by each candidate, in the order in which they are tried.
        stop_at: number of kept candidates after which the campaign ends.
    """
    campaign, truth = Campaign(), 0.0
    baseline = truth + draw(rng, rules.baseline_runs)
    campaign.baseline_runs = rules.baseline_runs
    for number, effect in enumerate(effects, 1):
        kept, runs = _candidate(rules, draw, rng, number, baseline, truth - effect)
        campaign.tried += 1
        campaign.candidate_runs += runs
        if not kept:
            continue
        campaign.kept += 1
        campaign.wrong += effect <= 0
        truth -= effect
        baseline = truth + draw(rng, rules.baseline_runs)
        campaign.baseline_runs += rules.baseline_runs
        campaign.baselines += 1
        campaign.bias = float(baseline.mean()) - truth
        if campaign.kept >= stop_at:
            break
    return campaign


def _candidate(
    rules: Rules,
    draw: Draw,
    rng: np.random.Generator,
    number: int,
    baseline: Float[np.ndarray, " _"],
    truth: float,
) -> tuple[bool, int]:
    values = truth + draw(rng, rules.first)
    looks: list[int] = []
    while True:
        looks.append(len(values))
        seen = analyse(rules, number, baseline, values, looks)
        if seen.decision in (KEEP, DISCARD):
            return seen.decision == KEEP, len(values)
        assert seen.decision == MORE
        values = np.concatenate([values, truth + draw(rng, seen.wanted)])


def greedy(
    draw: Draw, rng: np.random.Generator, effects: list[float], runs: int = 1, stop_at: int = 10**9
) -> Campaign:
    """Simulate a campaign without the referee: keep a candidate if its mean is the best so far.

    Args:
        draw: draws the noise of a number of runs.
        rng: random generator.
        effects: true improvement by each candidate, in the order in which they are tried.
        runs: number of runs of each candidate.
        stop_at: number of kept candidates after which the campaign ends.
    """
    campaign, truth = Campaign(), 0.0
    best = float((truth + draw(rng, runs)).mean())
    campaign.baseline_runs = runs
    for effect in effects:
        mean = float((truth - effect + draw(rng, runs)).mean())
        campaign.tried += 1
        campaign.candidate_runs += runs
        if mean >= best:
            continue
        campaign.kept += 1
        campaign.wrong += effect <= 0
        truth, best = truth - effect, mean
        campaign.bias = best - truth
        if campaign.kept >= stop_at:
            break
    return campaign

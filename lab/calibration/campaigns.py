"""Simulated campaigns: an agent that tries candidates, with the referee and without.

Noise is normal, or resampled from the groups of the speed-run (their residuals, each group scaled
to a standard deviation of 1): from all of them at once, or in each campaign from one. Effects are
in standard deviations; lower is better.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ablate.referee.campaign import DISCARD, KEEP, MORE, Rules, analyse

FEWEST = 8  # runs of a group whose residuals are resampled
Draw = Callable[[np.random.Generator, int], Float[np.ndarray, " _"]]


@dataclass
class Campaign:
    """What happened in a campaign."""

    kept: int = 0
    wrong: int = 0
    tried: int = 0
    candidate_runs: int = 0
    baseline_runs: int = 0
    bias: float = 0.0  # of the last baseline's estimate, in standard deviations
    baselines: int = 1


def normal(rng: np.random.Generator, runs: int) -> Float[np.ndarray, " _"]:
    """Return normal noise."""
    return rng.standard_normal(runs)


def residuals(path: Path) -> list[Float[np.ndarray, " _"]]:
    """Return the residuals of each large group of a table with group, final_step and val_loss.

    Residuals are those of the runs of a group that have its commonest number of steps, scaled to a
    mean of 0 and a standard deviation of 1.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            groups.setdefault((row["group"], row["final_step"]), []).append(float(row["val_loss"]))
    large = [np.array(values) for values in groups.values() if len(values) >= FEWEST]
    return [(values - values.mean()) / values.std() for values in large if values.std() > 0]


def resampled(values: Float[np.ndarray, " _"]) -> Draw:
    """Return a draw from these values."""
    return lambda rng, runs: rng.choice(values, runs)


def with_referee(
    rules: Rules, draw: Draw, rng: np.random.Generator, effects: list[float], stop_at: int = 10**9
) -> Campaign:
    """Run a campaign: each candidate improves the baseline by its effect, in turn."""
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
    """Keep a candidate whenever the mean of its runs is below the best mean so far."""
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

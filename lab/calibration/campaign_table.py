"""Simulate campaigns, and make a Markdown table of their results."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ablate.referee.campaign import Rules
from lab.calibration.campaigns import (
    Campaign,
    Draw,
    greedy,
    normal,
    resampled,
    residuals,
    with_referee,
)

# USELESS: candidates of a campaign in which none is useful. USEFUL: improvement by each candidate
# of the other campaigns, in standard deviations. KEPT: kept candidates after which these end.
USELESS, USEFUL, KEPT = 100, 2.0, 10
AGENTS = ("with the referee", "greedy, one run", "greedy, means of 4 runs")
HEAD = (
    *("noise", "agent", "100 useless: campaigns that keep one", "kept per campaign"),
    *("candidate runs per candidate", "useful by 2 sd: kept", "candidate runs each"),
    *("baseline runs per accepted baseline", "bias after ten kept (sd)"),
)


def rows(campaigns: int, seed: int, runs: Path) -> Iterator[str]:
    """Yield the lines of the Markdown table.

    Args:
        campaigns: number of campaigns of each kind.
        seed: seed of the simulation.
        runs: table of the runs whose noise is resampled.
    """
    yield f"| {' | '.join(HEAD)} |"
    yield f"| {' | '.join(['---'] * len(HEAD))} |"
    groups = residuals(runs)
    noises: dict[str, list[Draw]] = {
        "normal": [normal],
        "speed-run, all groups": [resampled(np.concatenate(groups))],
        "speed-run, a group each": [resampled(group) for group in groups],
    }
    for noise, draws in noises.items():
        for agent in AGENTS:
            rng = np.random.default_rng([seed, len(noise), len(agent)])
            yield f"| {noise} | {agent} | {_row(agent, draws, rng, campaigns)} |"


def _row(agent: str, draws: list[Draw], rng: np.random.Generator, campaigns: int) -> str:
    drawn = [draws[place % len(draws)] for place in range(campaigns)]
    useless = [_campaign(agent, draw, rng, [0.0] * USELESS) for draw in drawn]
    mixed = [_campaign(agent, draw, rng, [USEFUL] * 3 * KEPT, KEPT) for draw in drawn]
    wrong = np.mean([campaign.wrong > 0 for campaign in useless])
    tried = sum(campaign.tried for campaign in mixed)
    cells = (
        f"{wrong:.1%} (± {1.96 * (wrong * (1 - wrong) / campaigns) ** 0.5:.1%})",
        f"{np.mean([campaign.kept for campaign in useless]):.2f}",
        f"{sum(o.candidate_runs for o in useless) / sum(o.tried for o in useless):.2f}",
        f"{sum(campaign.kept for campaign in mixed) / tried:.1%}",
        f"{sum(campaign.candidate_runs for campaign in mixed) / tried:.2f}",
        f"{sum(o.baseline_runs for o in mixed) / sum(o.baselines for o in mixed):.0f}",
        f"{np.mean([campaign.bias for campaign in mixed]):+.3f}",
    )
    return " | ".join(cells)


def _campaign(
    agent: str, draw: Draw, rng: np.random.Generator, effects: list[float], stop_at: int = 10**9
) -> Campaign:
    if agent == AGENTS[0]:
        return with_referee(Rules("lower"), draw, rng, effects, stop_at)
    return greedy(draw, rng, effects, 1 if "one" in agent else 4, stop_at)

"""Measure whether the number of seeds that `seeds_needed` recommends has the promised power.

Sweeps with this number of seeds are simulated. They have the true effect and the noise for which
the number was computed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from ablate.config.study import Claim
from ablate.evidence.folder import contributions
from ablate.stats.estimate import Estimate, estimate
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LARGE, SUPPORTED
from lab.calibration.simulate import KINDS as NOISES
from lab.calibration.simulate import Design

ALPHA = 0.05
Marks = dict[str, float]
Draw = Callable[[float, int], Estimate]  # effect, seeds
# by name of the promise: the kind of claim, the decision, and the true effect in margins
PROMISES = {
    "direction only": ("superiority", SUPPORTED, 1.0),
    LARGE: ("superiority", LARGE, 2.0),
    "equivalence": ("equivalence", SUPPORTED, 0.0),
    "non-inferiority": ("non_inferiority", SUPPORTED, 0.0),
}


def promised(name: str, noise: Estimate, margin: float, draw: Draw, sweeps: int) -> Marks:
    """Return the measured and the planned power of a decision, and the number of seeds.

    Args:
        name: name of the promise, a key of PROMISES.
        noise: estimate with the noise of a difference, for which the seeds are planned.
        margin: margin of the claim.
        draw: simulates a sweep with a true effect and a number of seeds.
        sweeps: number of simulated sweeps.

    Returns:
        NAME: proportion of the sweeps that reach the decision.
        "NAME: seeds": planned number of seeds.
        "NAME: planned": power that the plan promises.
    """
    kind, side, effects = PROMISES[name]
    rule, claim = KINDS[kind], cast(Claim, {"kind": kind, "margin": margin})
    plan = rule.seeds_needed(claim, noise, ALPHA)[side]
    seeds, effect = plan["seeds"], plan["effect"]
    assert seeds is not None
    reached = 0
    for _ in range(sweeps):
        decision = rule.decide_uncorrected(draw(effects * margin, seeds), margin, ALPHA)
        reached += side in (decision.status, decision.grade)
    power = rule.power(side, noise, margin, effect, seeds, ALPHA)
    return {name: reached / sweeps, f"{name}: seeds": seeds, f"{name}: planned": power}


def of_translations(kind: str, sentences: int, rng: np.random.Generator) -> Draw:
    """Return a function that simulates a sweep of translations and estimates the difference.

    The difference is that of the second arm from the first. The function takes the true effect in
    BLEU and the number of seeds.

    Args:
        kind: kind of noise.
        sentences: number of test sentences.
        rng: random generator.
    """
    noise = replace(NOISES[kind], seeds=NOISES[kind].seeds[:2])
    designs: dict[float, Design] = {}

    def draw(effect: float, seeds: int) -> Estimate:
        if effect not in designs:
            designs[effect] = Design.with_effects(noise, (effect,))
        rows = designs[effect].draw(seeds, sentences, rng)
        baseline, treatment = (np.array([contributions(run) for run in arm]) for arm in rows)
        parts = treatment - baseline
        return estimate(parts.mean(1), parts, treatment.mean(1))

    return draw

"""Whether as many seeds as `seeds_needed` names have the power that it promises.

Sweeps of that size are simulated at the effect that the plan names, with the noise it was made for.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from ablate.evidence.sentence_scores import contributions
from ablate.evidence.types import Claim
from ablate.stats.estimate import Estimate, estimate
from ablate.verdict.decision import LARGE, SUPPORTED
from ablate.verdict.kind import KINDS
from lab.calibration.simulate import KINDS as NOISES
from lab.calibration.simulate import Design

ALPHA = 0.05
Marks = dict[str, float]
Draw = Callable[[float, int], Estimate]  # effect, seeds
# What is promised: the kind of claim, the decision, the true effect in margins.
PROMISES = {
    "direction only": ("superiority", SUPPORTED, 1.0),
    LARGE: ("superiority", LARGE, 2.0),
    "equivalence": ("equivalence", SUPPORTED, 0.0),
    "non-inferiority": ("non_inferiority", SUPPORTED, 0.0),
}


def promised(name: str, noise: Estimate, margin: float, draw: Draw, sweeps: int) -> Marks:
    """Share of sweeps in which a decision was reached, the plan's power, and its seeds.

    Planned with the noise of a difference.
    """
    kind, side, effects = PROMISES[name]
    rule, claim = KINDS[kind], cast(Claim, {"kind": kind, "margin": margin})
    plan = rule.seeds_needed(claim, noise, ALPHA)[side]
    assert plan.seeds is not None
    reached = 0
    for _ in range(sweeps):
        decision = rule.alone(draw(effects * margin, plan.seeds), margin, ALPHA)
        reached += side in (decision.status, decision.grade)
    power = rule.power(side, noise, margin, plan.effect, plan.seeds, ALPHA)
    return {name: reached / sweeps, f"{name}: seeds": plan.seeds, f"{name}: planned": power}


def of_translations(kind: str, sentences: int, rng: np.random.Generator) -> Draw:
    """Sweeps of made-up translations: the second arm against the first."""
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

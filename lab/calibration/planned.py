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
from ablate.verdict.decision import AT_LEAST, SUPPORTED
from ablate.verdict.kind import KINDS
from ablate.verdict.kind.ladder import Ladder
from lab.calibration.simulate import KINDS as NOISES
from lab.calibration.simulate import Design

ALPHA = 0.05
Marks = dict[str, float]
Draw = Callable[[float, int, int], list[Estimate]]  # effect, seeds, arms beside the named one
# What is promised: the kind of claim, the decision, the true effect in margins, the arms beside it.
PROMISES = {
    "there": ("superiority", SUPPORTED, 1.0, 1),
    AT_LEAST: ("superiority", AT_LEAST, 2.0, 1),
    "equivalence": ("equivalence", SUPPORTED, 0.0, 1),
    "non-inferiority": ("non_inferiority", SUPPORTED, 0.0, 1),
    "within_best": ("within_best", SUPPORTED, 0.0, 3),
}


def promised(
    name: str, noise: Estimate, shared: float, margin: float, draw: Draw, sweeps: int
) -> Marks:
    """Share of sweeps in which a decision was reached, the plan's power, and its seeds.

    Planned with the noise of a difference, and the correlation of those that share an arm.
    """
    kind, side, effects, others = PROMISES[name]
    rule, claim = KINDS[kind], cast(Claim, {"kind": kind, "margin": margin})
    known = _one([noise] * others, shared)
    plan = rule.seeds_needed(claim, known, ALPHA)[side]
    assert plan.seeds is not None
    reached = 0
    for _ in range(sweeps):
        found = _one(draw(effects * margin, plan.seeds, others), shared)
        decision = rule.alone(found, margin, ALPHA)
        reached += side in (decision.status, decision.grade)
    power = rule.power(side, known, margin, plan.effect, plan.seeds, ALPHA)
    return {name: reached / sweeps, f"{name}: seeds": plan.seeds, f"{name}: planned": power}


def _one(found: list[Estimate], shared: float) -> Estimate | Ladder:
    rungs = {str(i): one for i, one in enumerate(found)}
    return Ladder(rungs, ALPHA, shared) if found[1:] else found[0]


def of_translations(kind: str, sentences: int, rng: np.random.Generator) -> Draw:
    """Sweeps of made-up translations: the first arm against the others."""
    designs: dict[tuple[float, int], Design] = {}

    def draw(effect: float, seeds: int, others: int) -> list[Estimate]:
        levels = (0.0,) * (others - 1) + (effect,)
        if (effect, others) not in designs:
            noise = NOISES[kind]
            noise = replace(noise, seeds=noise.seeds[: others + 1])
            designs[effect, others] = Design.with_effects(noise, levels)
        rows = designs[effect, others].draw(seeds, sentences, rng)
        arms = np.array([[contributions(run) for run in arm] for arm in rows])
        return [estimate((one - arms[0]).mean(1), one - arms[0], one.mean(1)) for one in arms[1:]]

    return draw

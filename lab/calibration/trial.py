"""Simulate a sweep, judge it by the real rules, and mark false verdicts and wrong intervals.

A mark is a number with a name: 1.0 if an event happened in the sweep, such as a verdict, else 0.0.
Arms 1 and 2 are as good as arm 0, and arm 3 is better by the margin. So the true effect is the
worst case for every verdict. The rules are those of ablate.verdict.kinds, ablate.stats and
ablate.stats.estimate.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import contributions
from ablate.stats import adjust
from ablate.stats.estimate import Estimate, components, estimate
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LARGE, REFUTED, SUPPORTED
from lab.calibration.simulate import Design

ALPHA = 0.05
INTERVAL = "interval"
SLOPE = 0.5  # a trend over three levels is SLOPE * last - SLOPE * first
Parts = Float[np.ndarray, "seeds sentences"]
Marks = dict[str, float]


@dataclass(frozen=True)
class SimulatedSweep:
    """The settings of a simulated sweep.

    Attributes:
        design: the arms and their noise.
        seeds: seeds per arm.
        sentences: number of test sentences.
        margin: margin of the claims in BLEU.
    """

    design: Design
    seeds: int
    sentences: int
    margin: float

    def run(self, rng: np.random.Generator) -> Marks:
        """Simulate a sweep, judge it, and return its marks by name.

        Most marks are 1.0 if an event happened, else 0.0. Marks "noise: ..." are measurements.

        Returns:
            interval: the 95 % interval misses the true effect.
            "CASE: VERDICT": the verdict of a claim, such as "trend at slope 0: supported".
            family: one of three verdicts is false after Holm's correction.
            "noise: seed", "noise: sentence", "noise: rest": variances of a difference.
            "noise: skewness": skewness that the test corrects for.
        """
        rows = self.design.draw(self.seeds, self.sentences, rng)
        arms = np.array([[contributions(run) for run in arm] for arm in rows])
        same, better, worse = _of(arms[1], arms[0]), _of(arms[3], arms[0]), _of(arms[1], arms[3])
        trend = _of(SLOPE * arms[2], SLOPE * arms[0])
        low, high = same.interval(1 - ALPHA)
        return {
            INTERVAL: float(not low <= 0 <= high),
            **self._superiority(same, better),
            **self._equivalence(same, better, worse),
            **self._non_inferiority(same, worse),
            **_verdicts("trend at slope 0", "trend", 0.0, trend),
            **_family([same, _of(arms[2], arms[0]), better]),
            **_noise(arms[1] - arms[0], same),
        }

    def _superiority(self, same: Estimate, better: Estimate) -> Marks:
        return {
            **_verdicts("superiority at effect 0", "superiority", 0.0, same),
            **_verdicts("superiority at the margin", "superiority", self.margin, better),
            **_verdicts("superiority planted", "superiority", 0.0, better),
        }

    def _equivalence(self, same: Estimate, better: Estimate, worse: Estimate) -> Marks:
        return {
            **_verdicts("equivalence at +margin", "equivalence", self.margin, better),
            **_verdicts("equivalence at -margin", "equivalence", self.margin, worse),
            **_verdicts("equivalence planted", "equivalence", self.margin, same),
        }

    def _non_inferiority(self, same: Estimate, worse: Estimate) -> Marks:
        return {
            **_verdicts("non-inferiority at -margin", "non_inferiority", self.margin, worse),
            **_verdicts("non-inferiority planted", "non_inferiority", self.margin, same),
        }


def _of(plus: Parts, minus: Parts) -> Estimate:
    parts = plus - minus
    return estimate(parts.mean(1), parts, plus.mean(1))


def _verdicts(name: str, kind: str, margin: float, effect: Estimate) -> Marks:
    decision = KINDS[kind].decide_uncorrected(effect, margin, ALPHA)
    marks = {f"{name}: {side}": float(decision.status == side) for side in (SUPPORTED, REFUTED)}
    return marks | {f"{name}: {LARGE}": float(decision.grade == LARGE)}


def _family(effects: list[Estimate]) -> Marks:
    """Return the mark "family": 1.0 if one of three verdicts of a study is false, else 0.0.

    The first two effects are 0, and the third is positive. The claims share their baseline, and
    Holm's correction is applied.
    """
    rule = KINDS["superiority"]
    p = [rule.scaled_to_alpha(rule.p_values(effect, 0.0)) for effect in effects]
    verdicts = [rule.decide(adjusted, ALPHA).status for adjusted in adjust(p, [ALPHA] * len(p))]
    false = [verdict in (SUPPORTED, REFUTED) for verdict in verdicts[:2]] + [verdicts[2] == REFUTED]
    return {"family": float(any(false))}


def _noise(parts: Parts, effect: Estimate) -> Marks:
    """Return the marks "noise: ..." of two equal arms.

    They are three variances of the difference, and the skewness that the test corrects for.
    """
    sizes = dict(zip(("seed", "sentence", "rest"), components(parts), strict=True))
    sizes["skewness"] = effect.skewness or 0.0
    return {f"noise: {name}": size for name, size in sizes.items()}

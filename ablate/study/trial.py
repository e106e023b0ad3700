"""One simulated sweep, judged by the engine: which verdicts were false, which intervals missed.

Arms 1 and 2 are as good as arm 0, arm 3 is better by the margin; so every verdict is put to its
worst case. All rules are those of `verdict`, `holm` and `estimate`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ablate.study.estimate import Estimate, components, estimate
from ablate.study.holm import adjust
from ablate.study.rivals import Weights, bootstraps, satterthwaite, t_over_seeds
from ablate.study.sentences import contributions
from ablate.study.simulate import Design
from ablate.study.verdict import REFUTED, SUPPORTED, decide, on_scale_of_alpha, one_sided

ALPHA = 0.05
SUPERIOR = {"kind": "superiority", "margin": 0.0, "alpha": ALPHA}
OURS = "t of both levels, squared and added"
RIVALS = ("percentile bootstrap", "bootstrap-t", "t over seeds", "Satterthwaite's t")
SLOPE = np.array([-0.5, 0.0, 0.5])  # weights of a trend over three levels
Parts = Float[np.ndarray, "seeds sentences"]
Marks = dict[str, float]


@dataclass(frozen=True)
class Trial:
    """What is simulated: so many seeds and sentences of a design, against this margin."""

    design: Design
    seeds: int
    sentences: int
    margin: float
    weights: Weights | None  # of the bootstraps; None: they are left out

    def run(self, rng: np.random.Generator) -> Marks:
        """Simulate a sweep and judge it; 1 for what happened, 0 for what did not."""
        rows = self.design.draw(self.seeds, self.sentences, rng)
        arms = np.array([[contributions(run) for run in arm] for arm in rows])
        same, better, worse = arms[1] - arms[0], arms[3] - arms[0], arms[1] - arms[3]
        trend = np.tensordot(SLOPE, arms[:3], 1)
        return {
            **self._coverage(same),
            **self._superiority(_of(same), _of(better)),
            **self._equivalence(_of(same), _of(better), _of(worse)),
            **_verdicts("trend at slope 0", SUPERIOR, _of(trend)),
            **_family([_of(same), _of(arms[2] - arms[0]), _of(better)]),
            **_noise(better),
        }

    def _coverage(self, parts: Parts) -> Marks:
        level = 1 - ALPHA
        ends = {OURS: _of(parts).interval(level)}
        if self.weights is not None:
            rivals = bootstraps(parts, level, self.weights)
            others = (t_over_seeds(parts, level), satterthwaite(parts, level))
            ends |= dict(zip(RIVALS, (*rivals, *others), strict=True))
        return {name: float(not low <= 0 <= high) for name, (low, high) in ends.items()}

    def _superiority(self, same: Estimate, better: Estimate) -> Marks:
        at_margin = {**SUPERIOR, "margin": self.margin}
        return {
            **_verdicts("superiority at effect 0", SUPERIOR, same),
            **_verdicts("superiority at the margin", at_margin, better),
            **_verdicts("superiority planted", SUPERIOR, better),
        }

    def _equivalence(self, same: Estimate, better: Estimate, worse: Estimate) -> Marks:
        claim = {**SUPERIOR, "kind": "equivalence", "margin": self.margin}
        return {
            **_verdicts("equivalence at +margin", claim, better),
            **_verdicts("equivalence at -margin", claim, worse),
            **_verdicts("equivalence planted", claim, same),
        }


def _of(parts: Parts) -> Estimate:
    return estimate(parts.mean(1), parts)


def _verdicts(name: str, claim: dict[str, Any], found: Estimate) -> Marks:
    p = on_scale_of_alpha(claim, one_sided(claim, found))
    verdict = decide(claim, found.effect, p, ALPHA)
    return {f"{name}: {side}": float(verdict == side) for side in (SUPPORTED, REFUTED)}


def _family(found: list[Estimate]) -> Marks:
    """Three claims of one file: two of no effect, one of a true effect, sharing their baseline."""
    p = [on_scale_of_alpha(SUPERIOR, one_sided(SUPERIOR, one)) for one in found]
    verdicts = [
        decide(SUPERIOR, one.effect, adjusted, ALPHA)
        for one, adjusted in zip(found, adjust(p, [ALPHA] * len(p)), strict=True)
    ]
    false = [verdict in (SUPPORTED, REFUTED) for verdict in verdicts[:2]] + [verdicts[2] == REFUTED]
    return {"family": float(any(false))}


def _noise(parts: Parts) -> Marks:
    seed, sentence, rest = components(parts)
    return {"noise: seed": seed, "noise: sentence": sentence, "noise: rest": rest}

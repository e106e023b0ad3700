"""A named level is within the margin m of the best of its ladder: "eight heads are enough".

It is compared with every other level of the factor `over`. Supported when it is non-inferior to
each, tested at alpha / 2 each: all must hold, so that no correction is due (intersection-union,
Berger 1982), and none is chosen as the best, so that no seeds are spent on choosing. Refuted when
it is inferior by the margin to one of them, after Holm's correction over them.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim
from ablate.record.arm import say
from ablate.stats.estimate import Estimate
from ablate.stats.holm import Tests
from ablate.stats.power import halves, known
from ablate.verdict.contrast import Contrast, contrast
from ablate.verdict.decision import REFUTED, SUPPORTED, Turn
from ablate.verdict.floor import nothing_learned
from ablate.verdict.kind.base import NOTHING, Finding
from ablate.verdict.kind.ladder import Ladder, correlation
from ablate.verdict.kind.non_inferiority import NonInferiority, losses
from ablate.verdict.sides import has

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


class WithinBest(NonInferiority):
    """No level of the ladder is better than the named one by the margin."""

    rule = (
        "supported when the level is non-inferior to every other one, each at alpha / 2; refuted "
        "when it is inferior to one by the margin, after Holm over them"
    )

    def check(self, name: str, claim: Claim, factors: list[str]) -> None:
        """The treatment names a level of the factor `over`, and there is no baseline."""
        if claim["over"] not in factors or claim["over"] not in claim["treatment"]:
            raise UserError(
                f"{name}: over={claim['over'] or 'nothing'}; within_best compares the level that "
                f"treatment gives of a factor with all others: {', '.join(factors)}"
            )
        if claim["baseline"]:
            raise UserError(f"{name}: within_best takes no baseline; it is every other level")
        super().check(name, claim, factors)

    def contrasts(self, claim: Claim, evidence: Evidence) -> list[Claim]:
        """The named level against each other one."""
        over, own = claim["over"], claim["treatment"]
        runs = (run for run in evidence.runs if has(run, claim["where"]))
        levels = {say({over: run["levels"][over]}): run["levels"][over] for run in runs}
        others = [level for level in levels.values() if level != own[over]]
        return [{**claim, "baseline": own | {over: level}} for level in others]

    def find(self, claim: Claim, evidence: Evidence) -> Finding:
        """One estimate per other level; what is told is the one that comes out worst."""
        asked = {say(one["baseline"]): one for one in self.contrasts(claim, evidence)}
        if not asked:
            return self.without(claim, f"no other level of {claim['over']} was run")
        paired = {name: contrast(one, evidence) for name, one in asked.items()}
        rungs = {name: one.estimate for name, one in paired.items()}
        ladder = Ladder(rungs, claim["alpha"], correlation(_aligned([*paired.values()])))
        told, shown = asked[ladder.lowest], paired[ladder.lowest]
        floors = [nothing_learned(one, evidence) for one in asked.values()]
        if all(floors):
            return self.without(told, floors[0], ladder, shown)
        return self.with_effect(told, ladder, shown)

    def tests(self, found: Any, margin: float) -> Tests:
        """All must hold to support; one is enough to refute, the smallest of k times k."""
        if found is NOTHING:
            return super().tests(found, margin)
        each = [super(WithinBest, self).tests(one, margin) for one in found.rungs.values()]
        return {
            SUPPORTED: max(p[SUPPORTED] for p in each),
            REFUTED: min(1.0, len(each) * min(p[REFUTED] for p in each)),
        }

    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """At the lowest end of all, and at the lowest upper end of those that Holm's test uses."""
        rungs = list(found.rungs.values())
        low = min(one.interval(1 - alpha)[0] for one in rungs)
        return losses(low, min(one.interval(1 - alpha / len(rungs))[1] for one in rungs))

    def planned(self, found: Any) -> bool:
        """Of every other level."""
        return found is not NOTHING and all(map(known, found.rungs.values()))

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Chance that all tests hold; what the differences share is integrated over.

        Spreads of normal samples that correlate r correlate r^2: to that share the rungs have one
        estimated spread, to the rest each its own.
        """
        rungs, shared = found.rungs.values(), found.shared
        each = [_above(one, margin + effect, pairs, alpha, shared) for one in rungs]
        alone, together = np.prod([one.mean(1) for one in each], 0), np.prod(each, 0).mean(1)
        chance = (1 - shared**2) * alone + shared**2 * together
        return float((chance * WEIGHTS).sum() / WEIGHTS.sum())


def _above(
    found: Estimate, margin: float, pairs: int, alpha: float, shared: float
) -> Float[np.ndarray, "nodes values"]:
    """Chance that one test of equal levels holds, for what is shared and for estimated spreads."""
    error = np.sqrt(found.seed_variance / pairs + found.sentence_variance)
    bounds = (halves(found, pairs, alpha / 2) - margin) / error
    values = np.sqrt(shared) * NODES[:, None]
    return np.asarray(stats.norm.sf((bounds + values) / np.sqrt(1 - shared)))


def _aligned(rungs: list[Contrast]) -> Float[np.ndarray, "rungs seeds"]:
    """Their differences, of the seeds that all of them have."""
    seeds = set.intersection(*(set(one.seeds) for one in rungs))
    kept = [np.isin(one.seeds, list(seeds)) for one in rungs]
    return np.array([one.differences[rows] for one, rows in zip(rungs, kept, strict=True)])

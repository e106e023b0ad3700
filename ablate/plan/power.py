"""Compute the power of a study's claims for several numbers of seeds, before any run.

The variation between runs comes from an earlier sweep of the same arms in the same setting. Without
such a sweep, all arms are assumed to vary alike, by a standard deviation that the user states. If
none is stated, effects are in standard deviations: of the difference that a claim is about, with
one run of each arm. Two seeds of an earlier sweep tell only this standard deviation, because a
verdict from three seeds on borrows from all arms. With several claims, each claim is planned at
alpha divided by their number, the first step of Holm's correction, so the estimate is conservative.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ablate.config.screen import BASELINE, FACTOR
from ablate.config.study import Claim
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE
from ablate.metric import metric_of
from ablate.phrases import claim_name, counted
from ablate.plan.plan import Plan, aligned
from ablate.stats.corrections import ONCE
from ablate.stats.estimate import Estimate
from ablate.stats.moderated import FEWEST_ARMS, FEWEST_RUNS
from ablate.stats.power import CORRELATION, PlannedNoise
from ablate.stats.rates import Rates
from ablate.verdict.caveats import of_rates
from ablate.verdict.contrast import contrast
from ablate.verdict.kinds import kind_of
from ablate.verdict.sides import sides
from ablate.verdict.types import SUPPORTED
from ablate.words.reasons import sentence

SEEDS = (4, 8, 16, 32)  # numbers of seeds, beside the planned one, for which effects are shown
STANDARD = "standard deviations"
HUGE = 4  # standard deviations; hardly any change of a model has so large an effect
RATE = "proportion of failed runs"


@dataclass(frozen=True)
class Sensitivity:
    """The effects that a planned sweep can detect for a claim.

    Args:
        claim: the claim.
        detectable: for each number of seeds, the smallest true effect that is detected with power
            0.8 (for equivalence and non-inferiority: the smallest margin); None if there is none.
        unit: the unit of these effects, and the standard deviation (SD) of the difference for one
            seed.
        seeds_needed: number of seeds with which the claim is supported with power 0.8, if the
            effect that it names is true; None if this is unknown, or if no number is enough.
        deviation: assumed standard deviation of the difference for one seed; 0 if none is.
    """

    claim: Claim
    detectable: dict[int, float | None]
    unit: str
    seeds_needed: int | None
    deviation: float


def sensitivities_of(plan: Plan, deviation: float = 0.0) -> list[Sensitivity]:
    """Return the effects that a planned sweep can detect, for each of its claims.

    Exact claims have no power. The list is empty if the sweep has no study, or runs only a part of
    one, which has no verdict.

    Args:
        plan: the planned sweep.
        deviation: assumed standard deviation of the runs of an arm, in the metric of the first
            claim; 0 if it is unknown.
    """
    study = plan.sweep.study
    if study is None or plan.sweep.is_part or study.get("design"):
        return []
    claims = [claim for claim in study["claims"] if claim["kind"] != "exact"]
    return [_sensitivity(claim, plan, claims, deviation) for claim in claims]


def _sensitivity(claim: Claim, plan: Plan, claims: list[Claim], deviation: float) -> Sensitivity:
    alpha, stated = claim["alpha"] / len(claims), claim["metric"] == claims[0]["metric"]
    kind, seeds = kind_of(claim), sorted({*SEEDS, plan.seeds} - {1})
    arms, axis = _numbers_of_arms(claim, plan), metric_of(claim["metric"]).axis
    assumed, unit = 0.0, RATE
    if claim["metric"] in UNSTABLE:
        noise: dict[int, Any] = {n: Rates(0, n * arms[0], 0, n * arms[1]) for n in seeds}
    else:
        if differences := _measured(claim, plan):
            size = f"{differences.seed_variance**0.5:.3g} ({counted(differences.pairs, 'seed')})"
            unit = f"{axis}, SD of the difference {size}"
        else:
            unit, assumed = STANDARD, 1.0
            if deviation and stated and claim["kind"] != "trend":
                assumed = deviation * (sum(1 / n for n in arms) * (1 - CORRELATION)) ** 0.5
                unit = f"{axis}, SD of pairs {assumed:.3g} ({assumed / deviation:.3g} × noise)"
            differences = Estimate(0.0, 2, 0, assumed**2, 0.0, skewness=0.0)
        noise = dict.fromkeys(seeds, _as_judged(differences, claim, plan))
    detectable = {n: kind.detectable(claim, noise[n], alpha, n) for n in seeds}
    planned = {} if unit == STANDARD else kind.seeds_needed(claim, noise[seeds[0]], alpha)
    needed = planned.get(SUPPORTED)
    return Sensitivity(claim, detectable, unit, needed["seeds"] if needed else None, assumed)


def _as_judged(noise: Estimate, claim: Claim, plan: Plan) -> Estimate | PlannedNoise:
    """Return the noise of a claim whose errors a verdict from three seeds on estimates from all
    arms of the study, if it has three; `noise` is that of the differences alone.
    """
    study, arms = plan.sweep.study, len(plan.stages[1])
    if study is None or arms < FEWEST_ARMS or noise.pairs >= FEWEST_RUNS:
        return noise
    further = study.get("baseline_seeds") if claim["baseline"] == {FACTOR: BASELINE} else None
    ratio, of_texts = (further or study["seeds"]) / study["seeds"], noise.sentence_variance
    return PlannedNoise(arms, ratio, noise.seed_variance, noise.sentences, of_texts)


def _numbers_of_arms(claim: Claim, plan: Plan) -> list[int]:
    """Return the number of planned arms on each side of a claim."""
    run = {"status": "finished", "metrics": {}, "identity": "", "seed": 0}
    runs = [{**run, "levels": arm.levels} for arm in plan.stages[1]]
    planned = Evidence.synthetic(plan.sweep.study or {}, runs)
    return [len(side.all_runs) for side in sides(claim, planned)]


def untuned_rates(plan: Plan) -> list[str]:
    """Return the caveat that a study does not tune its learning rates, if that is so."""
    arms = (cell.arm for cell in plan.sweep.cells if cell.arm.probe is None)
    rates = {arm.optimizer.get("lr") for arm in arms} - {None}
    return [sentence(each) for each in of_rates(plan.sweep.study or {}, rates)]


def _measured(claim: Claim, plan: Plan) -> Estimate | None:
    """Return the effect of a claim in an earlier sweep, from which a plan takes the variation
    between runs.

    Runs that failed to learn are left out, as in a verdict. The result is None if an arm has no
    earlier runs, or if the earlier runs cannot be compared or show no variation.
    """
    if plan.earlier is None:
        return None
    try:
        estimate = contrast(claim, plan.earlier).among_learned().estimate
    except UserError:  # some levels have not run, or a record disagrees with its statistics
        return None
    return replace(estimate, effect=0.0, looks=ONCE) if estimate.error > 0 else None


def power_table(sensitivities: Sequence[Sensitivity], seeds: int) -> list[str]:
    """Return the lines of the power table: for each claim, the smallest effect that each number of
    seeds detects.

    The last column is the number of seeds that the claim needs, if it is known. Claims with equal
    values share a line. Sentences below the table explain standard deviations, and warn if the
    planned number of seeds could show only an effect that no experiment has.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in sensitivities:
        cells = ["-" if effect is None else f"{effect:.3g}" for effect in each.detectable.values()]
        cells.append(str(each.seeds_needed or "-"))
        alike.setdefault((each.claim["kind"], each.unit, *cells), []).append(claim_name(each.claim))
    numbers = map(str, sensitivities[0].detectable)
    rows: list[tuple[str, ...]] = [("claim", "kind", "unit", *numbers, "needed")]
    for values, (first, *more) in alike.items():
        rows.append((f"{first} and {len(more)} more" if more else first, *values))
    lines = aligned(rows)
    if any(each.unit == STANDARD for each in sensitivities):
        lines.append(
            "No sweep of this name and setting shows how runs vary, so the unit is the standard "
            "deviation of the difference between two runs with the same seed, assumed to be "
            f"{(2 * (1 - CORRELATION)) ** 0.5:.3g} times that of the runs of an arm. noise=X gives "
            "the latter in the unit of the metric."
        )
    assumed = [each for each in sensitivities if each.deviation]
    ratios = [(each.detectable.get(seeds) or math.inf) / each.deviation for each in assumed]
    if (least := min(ratios, default=0.0)) >= HUGE:
        below = "" if math.isinf(least) else f" below {least:.2g} standard deviations"
        lines.append(
            f"{counted(seeds, 'seed')} probably decide no difference{below}: plan more seeds."
        )
    return lines

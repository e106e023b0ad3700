"""Find the caveats on runs that trained on processors of several kinds.

A run gives slightly different numbers on another processor. If a processor has a larger part of the
runs of one arm, a part of the effect may come from the processor. If the effect differs between
processors, the differences of seeds on the same processor are not independent, so that an interval
over seeds does not hold for other processors. Runs on GPUs have no such caveat: a GPU of another
kind counts as a difference in code (the caveat `code_differs`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Caveat, Run, reason
from ablate.phrases import name_of, number_of
from ablate.stats import at_most
from ablate.stats.estimate import Estimate
from ablate.verdict.contrast import Contrast
from ablate.verdict.judge import Judged

FEWEST = 2  # pairs of runs of a processor whose effect is compared with that of other processors


def of_processors(evidence: Evidence, judged: Sequence[Judged]) -> Iterator[Caveat]:
    """Yield a caveat on claims whose arms have different proportions of runs on a processor, and a
    caveat on each claim whose effect differs between processors.

    The first caveat shows the arms with the largest difference. An effect differs if the F test is
    significant at alpha divided by the number of claims. A claim with a run that does not record
    its processor has no caveat.
    """
    if evidence.regime.get("device", "cpu") != "cpu":
        return
    numbers = number_of(evidence.study["claims"])
    uneven: dict[int, tuple[float, str, dict[str, list[int]]]] = {}
    differing: list[Caveat] = []
    for claim in judged:
        paired, number = claim.finding.paired, numbers[name_of(claim.entry)]
        if paired is None or not isinstance(claim.finding.result, Estimate):
            continue
        if not claim.finding.result.error > 0 or not all(map(_processor, _runs(paired))):
            continue
        if (widest := _widest(paired))[0] > 0:
            uneven[number] = widest
        effects = _by_processor(paired)
        p = _p_equal([*effects.values()])
        if at_most(p, claim.finding.claim["alpha"] / len(judged)):
            means = {name: round(float(x.mean()), 6) for name, x in effects.items()}
            differ = reason("effect_by_processor", effects=means, p=p)
            differing.append(Caveat(**differ, claims=[number]))
    if uneven:
        _, processor, arms = max(uneven.values(), key=lambda each: each[0])
        claims = [] if len(uneven) == len(numbers) else [*uneven]
        yield Caveat(**reason("processors_differ", processor=processor, arms=arms), claims=claims)
    yield from differing


def _processor(run: Run) -> str:
    """Return the processor of a run, with the instruction set if it is known; "" if unknown."""
    words = (run.get("processor", ""), run.get("instructions", ""))
    return " with ".join(filter(None, words)) if words[0] else ""


def _runs(paired: Contrast) -> list[Run]:
    return [run for side in paired.sides for seed in paired.seeds for run in side.runs[seed]]


def _widest(paired: Contrast) -> tuple[float, str, dict[str, list[int]]]:
    """Return the processor whose proportion of the runs differs most between the arms: this
    difference, the name, and the number of its runs and of all runs of each arm.
    """
    counts = {
        arm_label(side.levels): Counter(
            _processor(run) for seed in paired.seeds for run in side.runs[seed]
        )
        for side in paired.sides
    }

    def gap(processor: str) -> float:
        parts = [count[processor] / count.total() for count in counts.values() if count]
        return max(parts) - min(parts) if parts else 0.0

    name = max(sorted({name for count in counts.values() for name in count}), key=gap, default="")
    return gap(name), name, {arm: [count[name], count.total()] for arm, count in counts.items()}


def _by_processor(paired: Contrast) -> dict[str, Float[np.ndarray, " seeds"]]:
    """Return the differences of the seeds whose runs share a processor, by processor, if there are
    at least `FEWEST`.
    """
    by_name: dict[str, list[float]] = {}
    for seed, difference in zip(paired.seeds, paired.differences.tolist(), strict=True):
        names = {_processor(run) for side in paired.sides for run in side.runs[seed]}
        if len(names) == 1:
            by_name.setdefault(names.pop(), []).append(difference)
    return {name: np.array(x) for name, x in by_name.items() if len(x) >= FEWEST}


def _p_equal(groups: Sequence[Float[np.ndarray, " seeds"]]) -> float:
    """Return the p-value of the F test that all groups have the same mean; 1 for fewer than two
    groups.
    """
    if len(groups) < 2:
        return 1.0
    every = np.concatenate(groups)
    within, total = (sum(float(x.var()) * len(x) for x in y) for y in (groups, [every]))
    df = len(every) - len(groups), len(groups) - 1
    return float(special.betainc(df[0] / 2, df[1] / 2, within / total))

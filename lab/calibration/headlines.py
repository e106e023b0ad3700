"""Measure on simulated ledgers how often the headline of a claim is wrong.

The headline combines all verdicts on a claim into one word, by the real rule. A ledger has three
studies of a claim. Each study tests another reading (meaning) of the claim, at two budgets, and may
be repeated with fresh seeds. The true effect is the worst case everywhere: 0 if *supported* would
be wrong, or the margin if *refuted* would be wrong. Both budgets share seeds, so their noise is
correlated.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ablate.ledger.headline import headline
from ablate.ledger.verdicts import Finding
from ablate.stats.estimate import estimate
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import REFUTED, SUPPORTED
from lab.calibration.shapes import SHAPES

ALPHA, MARGIN = 0.05, 1.0  # the margin is in standard deviations of the baseline
READINGS, BUDGETS = 3, (600, 2400)
READING = [f"reading {number}" for number in range(READINGS)]
SHARED = 0.7  # correlation between a run's noise at the two budgets
NOISES = ("normal", "lognormal, variance x6", "exponential, variance x6")
WRONG = {SUPPORTED: 0.0, REFUTED: MARGIN}  # the true effect that makes each headline wrong
Wrong = dict[tuple[str, int, str, str], float]  # by noise, seeds, ledger and wrong headline


class Ledger(NamedTuple):
    """The tests of a claim: whether it allows no exception, the number of readings, and the tests
    of each reading.
    """

    universal: bool = False
    readings: int = READINGS
    tries: int = 1


DESIGNS = {
    "plain": Ledger(),
    "universal": Ledger(universal=True),
    "each asked twice": Ledger(tries=2),
    "one reading, asked twice": Ledger(readings=1, tries=2),
}


def wrong_headlines(ledgers: int, seeds: list[int]) -> Wrong:
    """Return the proportion of ledgers with a wrong headline.

    The keys are (noise, number of seeds, key of DESIGNS, wrong headline). Skewed noise is simulated
    in both directions, and the larger proportion counts.

    Args:
        ledgers: number of simulated ledgers for each case.
        seeds: the numbers of seeds of a study.
    """
    wrong: Wrong = {}
    for noise in NOISES:
        for n in seeds:
            for word, effect in WRONG.items():
                both = [_shares(noise, n, ledgers, effect, word, mirror) for mirror in (0, 1)]
                for name in DESIGNS:
                    wrong[noise, n, name, word] = max(share[name] for share in both)
    return wrong


def _shares(
    noise: str, seeds: int, ledgers: int, effect: float, word: str, mirror: int
) -> dict[str, float]:
    rng = np.random.default_rng([seeds, mirror])
    wrong = dict.fromkeys(DESIGNS, 0)
    for _ in range(ledgers):
        tries = [_verdicts(noise, seeds, effect, mirror, rng) for _ in range(2)]
        for name, ledger in DESIGNS.items():
            asked = [
                replace(finding, experiment=f"{finding.experiment}, try {number}")
                for number, verdicts in enumerate(tries[: ledger.tries])
                for finding in verdicts
                if finding.reading in READING[: ledger.readings]
            ]
            wrong[name] += headline(asked, universal=ledger.universal).word == word
    return {name: count / ledgers for name, count in wrong.items()}


def _verdicts(
    noise: str, seeds: int, effect: float, mirror: int, rng: np.random.Generator
) -> list[Finding]:
    shape = (READINGS, seeds)
    shared = SHAPES[noise](shape, rng)
    verdicts = []
    for steps in BUDGETS:
        fresh = SHAPES[noise](shape, rng)
        arms = [
            SHARED**0.5 * a + (1 - SHARED) ** 0.5 * b for a, b in zip(shared, fresh, strict=True)
        ]
        plus, minus = (-arms[1], -arms[0]) if mirror else arms
        verdicts += [
            _finding(number, steps, plus[number] + effect, minus[number])
            for number in range(READINGS)
        ]
    return verdicts


def _finding(number: int, steps: int, plus: np.ndarray, minus: np.ndarray) -> Finding:
    kind = KINDS["superiority"]
    effect = estimate(plus - minus, added=plus)
    tests = kind.scaled_to_alpha(kind.p_values(effect, MARGIN))
    decision = kind.decide(tests, ALPHA)
    answer: Any = {
        "statement": "",
        "verdict": decision.status,
        "reading": READING[number],
        "effect": effect.effect,
        "interval": effect.interval(1 - ALPHA) if steps == BUDGETS[-1] else None,
        "exploratory": False,
        "alpha": ALPHA,
        "p_look": tests,
    }
    study = f"study {number}"
    return Finding(answer, study, data=("multi30k",), steps=(steps,), trained=True)

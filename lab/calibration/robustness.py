"""Measure how often verdicts are false if the noise is not normal.

Three rates of false verdicts are measured for each distribution of noise. They hold for every
margin, because a margin only shifts the value that is tested.
`one-sided`: the whole 95 % interval is on one side of the true effect. This rate is for claims of
superiority, non-inferiority and trends.
`equivalence`: two arms that differ by the margin are called equivalent. The other margin is assumed
to be far away.
`one-sided, t`: like `one-sided`, but with the plain paired t test.
Each rate is that of the direction with more false verdicts.
"""

import re

import numpy as np

from ablate.errors import UserError
from ablate.stats.estimate import estimate
from lab.calibration.check import Row
from lab.calibration.headlines import Wrong, wrong_headlines
from lab.calibration.shapes import BEYOND, PROMISED, SHAPES, Seeds
from lab.calibration.tradeoff import Curve, curves

ALPHA = 0.05
SWEEPS, SEEDS = 4000, (3, 5, 7, 10, 20)
LEDGERS, FEW_AND_ENOUGH = 1000, (5, 10)  # number of ledgers; numbers of seeds of a study
WRONG_HEADLINES = 0.05  # allowed proportion of ledgers with a wrong headline
ALLOWED = 0.015  # by which a rate may exceed its nominal level
ENOUGH = 10  # smallest number of seeds for which the allowed rates are promised
ONE_SIDED, EQUIVALENCE, PLAIN = "one-sided", "equivalence", "one-sided, t"
NOMINAL = {ONE_SIDED: ALPHA / 2, EQUIVALENCE: ALPHA}
Rates = dict[str, float]
Robustness = dict[tuple[str, int], Rates]  # by shape and number of seeds


def measured_section() -> str:
    """Simulate with the default numbers of sweeps and seeds, and return the section in Markdown."""
    wrong = wrong_headlines(LEDGERS, [*FEW_AND_ENOUGH])
    return section(robustness(SWEEPS, [*SEEDS]), curves(SWEEPS), wrong, SWEEPS)


def robustness(sweeps: int, seeds: list[int]) -> Robustness:
    """Return the rates of false verdicts, by distribution of noise and number of seeds."""
    return {
        (name, n): _rates(*draw((sweeps, n), np.random.default_rng([n, len(name)])))
        for name, draw in SHAPES.items()
        for n in seeds
    }


def _rates(plus: Seeds, minus: Seeds) -> Rates:
    pairs = [*zip(plus, minus, strict=True)]
    ends = {
        level: np.array([_interval(*pair, level) for pair in pairs])
        for level in (1 - ALPHA, 1 - 2 * ALPHA)
    }
    plain = np.array([estimate(difference).interval(1 - ALPHA) for difference in plus - minus])
    return {
        ONE_SIDED: _worse(ends[1 - ALPHA]),
        EQUIVALENCE: _worse(ends[1 - 2 * ALPHA]),
        PLAIN: _worse(plain),
    }


def _interval(plus: Seeds, minus: Seeds, level: float) -> tuple[float, float]:
    return estimate(plus - minus, plus=plus).interval(level)


def _worse(ends: np.ndarray) -> float:
    """Return the proportion of intervals above or below the true effect 0, whichever is larger."""
    low, high = ends.T
    return float(max((low > 0).mean(), (high < 0).mean()))


def checked(robustness: Robustness, wrong: Wrong, sweeps: int) -> list[Row]:
    """Return every rate for which there is a promise, each with its largest allowed value."""
    headlines = [
        Row(f"headline, {', '.join(map(str, key))}", share, WRONG_HEADLINES, LEDGERS)
        for key, share in wrong.items()
    ]
    return headlines + [
        Row(f"{name}, {n} seeds, {test}", rates[test], nominal + ALLOWED, sweeps)
        for (name, n), rates in robustness.items()
        for test, nominal in NOMINAL.items()
        if name in PROMISED and n >= ENOUGH
    ]


TITLE = "Noise that is not normal"
TEXT = (
    "The two tables below show percentages of false verdicts in {sweeps:,} simulated sweeps for "
    "each cell, in the direction with more false verdicts (`python -m lab.robustness`). Each "
    "cell has three percentages. The first is for superiority, non-inferiority and trend "
    "(nominal 2.5). The second is for equivalence (nominal 5). The third is for superiority if "
    "the plain t test decides (nominal 2.5). For the noise of the first table, `ablate` "
    f"promises that from {ENOUGH} seeds on the first and the second percentage exceed their "
    "nominal level by at most 1.5 points. For the noise of the second table, `ablate` promises "
    "nothing. Every verdict on a mean states the largest rate of both tables for its number of "
    "seeds (ablate/stats/false_rates.py). *Variance x6* means that the variance of the "
    "treatment is six times the variance of the baseline. lab/calibration/shapes.py defines the "
    "noise distributions."
)
PRICE = (
    "The next table compares tests of a mean difference at 10 seeds. The first column shows the "
    "largest one-sided percentage of false verdicts over the noise distributions of the first "
    "table. The second column shows the power with normal noise. Both columns use the nominal "
    "level 2.5 %. The last column shows the power after the nominal level is lowered until the "
    "largest percentage is 4 %. `ablate` uses the method marked *chosen*. An earlier version of "
    "`ablate` used the method marked *before*. [The figure](../images/level_and_power.svg) has "
    "the complete curves."
)


LEDGER = (
    "The headline of a claim combines all of its verdicts into one word. The last table shows "
    "the percentage of wrong headlines in 1,000 simulated ledgers (lists of all verdicts on a "
    "claim). The claim has three readings (meanings). Each reading is tested by a separate "
    "study with two budgets (numbers of training steps). The headline *supported* is wrong if "
    "the true effect is 0 everywhere, and the headline *refuted* is wrong if the true effect is "
    "the margin everywhere. Each of the two may be wrong in 5 % of ledgers. In the rows marked "
    "*universal*, the sentence of the claim says *always*, so one counterexample refutes the "
    "sentence. In the rows marked *each asked twice*, every study is repeated with fresh seeds, "
    "by rule 8 of [headlines.md](headlines.md). In the rows marked *one reading, asked twice*, "
    "the claim has one reading instead of three, and the study of this reading is repeated with "
    "fresh seeds."
)


def section(robustness: Robustness, prices: dict[str, Curve], wrong: Wrong, sweeps: int) -> str:
    """Return the section of docs/explanation/calibration.md, with its heading and four tables.

    Args:
        robustness: rates of false verdicts.
        prices: false verdicts and power of each method (`lab.calibration.tradeoff`).
        wrong: rates of wrong headlines.
        sweeps: number of simulated sweeps.
    """
    seeds = sorted({n for _, n in robustness})
    tables = [_table(robustness, [*names], seeds) for names in (PROMISED, BEYOND)]
    head = "| method | largest percentage | power | power at 4 % |\n| --- | ---: | ---: | ---: |"
    rows = [
        f"| {name} | {_percent(x.level)} | {_percent(x.power)} | {_percent(x.power_allowed)} |"
        for name, x in prices.items()
    ]
    price = "\n".join([head, *rows])
    parts = [TEXT.format(sweeps=sweeps), *tables, PRICE, price, LEDGER, _headlines(wrong)]
    return "\n\n".join([f"## {TITLE}", *parts]) + "\n"


def _headlines(wrong: Wrong) -> str:
    lines = ["| noise, seeds, sentence | supported | refuted |", "| --- | ---: | ---: |"]
    for noise, seeds, sentence in dict.fromkeys(key[:3] for key in wrong):
        cells = [_percent(wrong[noise, seeds, sentence, word]) for word in ("supported", "refuted")]
        lines.append(f"| {noise}, {seeds}, {sentence} | {' | '.join(cells)} |")
    return "\n".join(lines)


def replaced(page: str, section: str) -> str:
    """Return the page after its section with the heading TITLE is replaced by `section`.

    Raises:
        UserError: the page has no section with this heading.
    """
    pattern = re.compile(rf"^## {TITLE}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if not pattern.search(page):
        raise UserError(
            f"the page has no section '## {TITLE}'; name another with to=, or add its heading"
        )
    return pattern.sub(lambda _: f"{section}\n", page, count=1)


def _table(robustness: Robustness, names: list[str], seeds: list[int]) -> str:
    lines = [f"| noise | {' | '.join(f'{n} seeds' for n in seeds)} |"]
    lines.append(f"| --- |{' ---: |' * len(seeds)}")
    for name in names:
        cells = [
            " / ".join(
                _percent(robustness[name, n][test]) for test in (ONE_SIDED, EQUIVALENCE, PLAIN)
            )
            for n in seeds
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"

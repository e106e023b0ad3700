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

from ablate.stats.estimate import estimate
from lab.calibration.check import Row
from lab.calibration.headlines import DESIGNS, NOISES, WRONG, Wrong, wrong_headlines
from lab.calibration.shapes import BEYOND, PROMISED, SHAPES, Seeds
from lab.calibration.tables import Cells, with_tables

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


def measured(page: str) -> str:
    """Simulate with the default numbers of sweeps and seeds, and return the page with the results.

    Raises:
        UserError: the page has no such section with two tables.
    """
    wrong = wrong_headlines(LEDGERS, [*FEW_AND_ENOUGH])
    return replaced(page, tables(robustness(SWEEPS, [*SEEDS]), wrong), SWEEPS)


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
    return estimate(plus - minus, added=plus).interval(level)


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


def tables(robustness: Robustness, wrong: Wrong) -> list[list[Cells]]:
    """Return the two tables of the section in docs/explanation/calibration.md.

    Args:
        robustness: rates of false verdicts.
        wrong: rates of wrong headlines.
    """
    seeds = sorted({n for _, n in robustness})
    rows: dict[str, list[str]] = {"normal": ["normal"]}
    rows |= {f"largest of {len(PROMISED)} distributions": [*PROMISED]}
    rows |= {name: [name] for name in BEYOND}
    rates = [["noise", *(f"{n} seeds" for n in seeds)]]
    for row, names in rows.items():
        rates.append([row, *(_cell([robustness[name, n] for name in names]) for n in seeds)])
    return [rates, _headlines(wrong)]


def _cell(rates: list[Rates]) -> str:
    return " / ".join(_percent(max(x[k] for x in rates)) for k in (ONE_SIDED, EQUIVALENCE, PLAIN))


def _headlines(wrong: Wrong) -> list[Cells]:
    columns = [(n, word) for n in sorted({key[1] for key in wrong}) for word in WRONG]
    table = [["sentence", *(f"{word}, {n} seeds" for n, word in columns)]]
    for design in DESIGNS:
        shares = (max(wrong[noise, n, design, word] for noise in NOISES) for n, word in columns)
        table.append([design, *map(_percent, shares)])
    return table


def replaced(page: str, tables: list[list[Cells]], sweeps: int) -> str:
    """Return the page with new tables in its section with the heading TITLE.

    Raises:
        UserError: the page has no such section with two tables.
    """
    page = re.sub(r"[\d,]+(?= simulated sweeps for each cell)", f"{sweeps:,}", page)
    return with_tables(page, TITLE, tables)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"

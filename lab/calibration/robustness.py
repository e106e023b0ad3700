"""How often verdicts are false when noise is not normal: every shape, judged by the engine.

A test is the same for every margin but for where it is taken, so that three numbers are enough.
`one-sided`: the interval of a superiority, non-inferiority or trend claim lies wholly on the wrong
side of the true effect, in the worse of the two directions. `equivalence`: two arms that differ by
the margin are called the same, in the worse direction, where the other bound is far away.
`one-sided, t` is the plain paired t.
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
LEDGERS, FEW_AND_ENOUGH = 1000, (5, 10)  # ledgers, and seeds of each of their studies
WRONG_HEADLINES = 0.05  # what is allowed
ALLOWED = 0.015  # above the nominal level
ENOUGH = 10  # seeds from which on the promise is kept
ONE_SIDED, EQUIVALENCE, PLAIN = "one-sided", "equivalence", "one-sided, t"
NOMINAL = {ONE_SIDED: ALPHA / 2, EQUIVALENCE: ALPHA}
Rates = dict[str, float]
Robustness = dict[tuple[str, int], Rates]  # by shape and number of seeds


def measured_section() -> str:
    """Return the section with the usual numbers of sweeps and seeds."""
    wrong = wrong_headlines(LEDGERS, [*FEW_AND_ENOUGH])
    return section(robustness(SWEEPS, [*SEEDS]), curves(SWEEPS), wrong, SWEEPS)


def robustness(sweeps: int, seeds: list[int]) -> Robustness:
    """Return the rates of false verdicts of every shape and number of seeds."""
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
    """Return how often intervals lie above the true effect, or below it."""
    low, high = ends.T
    return float(max((low > 0).mean(), (high < 0).mean()))


def checked(robustness: Robustness, wrong: Wrong, sweeps: int) -> list[Row]:
    """Return every rate that is promised, with its nominal level and what is allowed above it."""
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
    "Each cell shows the percentage of false verdicts in {sweeps:,} simulated sweeps, in the "
    "worse of both directions (`python -m lab.robustness`). It has three numbers: "
    "superiority, non-inferiority or trend (nominal 2.5) / equivalence (nominal 5) / "
    "superiority by the plain t test (nominal 2.5). In the first table, the first two numbers "
    f"may exceed their nominal level by 1.5 points from {ENOUGH} seeds on. The second table "
    "has noise for which nothing is promised. Every verdict on a mean states the largest rate "
    "of both tables for its number of seeds (ablate/stats/false_rates.py). "
    "lab/calibration/shapes.py defines the noise distributions."
)
PRICE = (
    "The next table compares methods at 10 seeds. It shows the largest one-sided percentage "
    "of false verdicts over the noise of the first table and the power with normal noise, "
    "both at the nominal 2.5 %. The last column is the power after the nominal level is "
    "lowered until the largest percentage is 4 %. [The figure](../images/level_and_power.svg) "
    "has the complete curves."
)


LEDGER = (
    "The last table shows the percentage of wrong headlines in 1,000 simulated ledgers of a "
    "claim. The claim has three readings (meanings), each in a separate study with two "
    "budgets. *Supported* is wrong if the true effect is 0 everywhere, *refuted* is wrong if "
    "the true effect is the margin everywhere. Each may be 5 %. A universal sentence says "
    "*always*, so one counterexample refutes it. *Each asked twice* has fresh seeds of every "
    "study, by rule 8 of [headlines.md](headlines.md)."
)


def section(robustness: Robustness, prices: dict[str, Curve], wrong: Wrong, sweeps: int) -> str:
    """Return the section of docs/explanation/calibration.md, with its heading."""
    seeds = sorted({n for _, n in robustness})
    tables = [_table(robustness, [*names], seeds) for names in (PROMISED, BEYOND)]
    head = "| method | largest share | power | power at 4 % |\n| --- | ---: | ---: | ---: |"
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
    """Return the page with its section of this title replaced.

    Raises:
        UserError: the page has no such section.
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

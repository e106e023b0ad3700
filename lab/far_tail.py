"""Measure how often tests are wrong at the small significance levels that Holm's correction uses.

Prints a line for each number of seeds and significance level. The line has two percentages for each
test: the largest percentage of false verdicts over the distributions of noise in
`lab.calibration.shapes.PROMISED`, and the power for an effect of three standard deviations.
"""

import argparse

from ablate.cli.parser import Parser, several, whole
from lab.command import main

FIRST = "drawing skewed, heavy-tailed and growing noise"
TAILS = (0.025, 0.025 / 3, 0.025 / 25)  # Holm's level of the smallest of 1, 3 and 25 p-values
EFFECT = 3.0  # standard deviations of an arm


def add_arguments(parser: Parser) -> None:
    """Declare the number of simulated sweeps and the numbers of seeds."""
    parser.add_key("sweeps", "sweeps of each shape", whole(1), 20000)
    parser.add_key("seeds", "seeds per arm", several(whole(3)), [5, 10])


def run(arguments: argparse.Namespace) -> None:
    """Print the percentage of false verdicts and the power of three tests at each level of TAILS.

    The tests are the t test, the t test corrected for skewness without a limit, and the limited
    correction that the verdicts use.
    """
    import numpy as np

    from lab.calibration.methods import chosen, t_test, unlimited
    from lab.calibration.shapes import PROMISED

    print("seeds  tail    false/power: t             without limit  chosen")
    for n in arguments.seeds:
        shape = (arguments.sweeps, n)
        drawn = [d(shape, np.random.default_rng([n, len(k)])) for k, d in PROMISED.items()]
        plus, minus = PROMISED["normal"](shape, np.random.default_rng(1))
        tests = (t_test, unlimited, chosen)
        false = [[p for a, b in drawn for p in (test(a, b), test(b, a))] for test in tests]
        true = [test(plus + EFFECT, minus) for test in tests]
        for tail in TAILS:
            worst = [100 * max((p <= tail).mean() for p in of_test) for of_test in false]
            power = [100 * (p <= tail).mean() for p in true]
            shares = [f"{a:.2f}/{b:.1f}" for a, b in zip(worst, power, strict=True)]
            print(f"{n:5}  {tail:.4f}  {'  '.join(f'{share:>13}' for share in shares)}")


if __name__ == "__main__":
    main("lab.far_tail")

"""Compare numbers up to rounding errors: numbers that only rounding errors separate are equal.

In floating-point arithmetic, 0.4 - 0.1 is larger than 0.3, and 0.3 - 0 is not. Every comparison of
an effect with a margin, a tolerance or 0, and of a p-value with alpha, uses these functions.
"""

import math

TIED = 1e-12  # relative difference up to which numbers are equal


def difference(x: float, y: float, scale: float = 0.0) -> float:
    """Return x - y, or 0 if only rounding errors separate x and y.

    `scale` is the largest number from which x and y were computed, if it is larger than they are.
    """
    return 0.0 if math.isclose(x, y, rel_tol=TIED, abs_tol=TIED * scale) else float(x - y)


def above(x: float, y: float, scale: float = 0.0) -> bool:
    """Return whether x is larger than y by more than rounding errors; False if either is NaN.

    `scale` is the largest number from which x and y were computed, if it is larger than they are.
    """
    return difference(x, y, scale) > 0


def at_most(x: float, y: float, scale: float = 0.0) -> bool:
    """Return whether x is below y, or equal up to rounding errors; False if either is NaN.

    `scale` is the largest number from which x and y were computed, if it is larger than they are.
    """
    return difference(x, y, scale) <= 0

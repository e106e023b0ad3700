"""Spend an error budget on a sequence of claims whose number is not known in advance.

Claim k is tested at alpha_k, and the alpha_k sum to no more than alpha. So the probability that any
claim is wrongly accepted is at most alpha (Bonferroni). This also holds if claims share runs, such
as the runs of a common baseline. Nine tenths of alpha are divided equally among the planned claims,
so that the last planned claim is tested at the level of the first. The last tenth is for claims
beyond the plan; their levels fall with the square of their number.
Source: Foster & Stine 2008, JRSS B 70, 429 (alpha spending); Tian & Ramdas 2021, Statistical
Methods in Medical Research 30, 976 (online control of the family-wise error, section 3).
What differs: in the sources, the levels fall from the first claim on.
"""

import math

PLANNED = 0.9  # fraction of alpha for the planned claims


def level(number: int, planned: int, alpha: float) -> float:
    """Return the significance level at which a claim is tested.

    Args:
        number: position of the claim in the sequence; the first claim has number 1.
        planned: number of claims that were planned.
        alpha: error budget of the whole sequence.
    """
    if number <= planned:
        return PLANNED * alpha / planned
    return (1 - PLANNED) * alpha * 6 / (math.pi * (number - planned)) ** 2


def spent(claims: int, planned: int, alpha: float) -> float:
    """Return the sum of the significance levels of the first `claims` claims."""
    return sum(level(number, planned, alpha) for number in range(1, claims + 1))

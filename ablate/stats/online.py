"""Spend an error budget on a sequence of claims whose number is not known in advance.

Claim k is tested at alpha_k, and the alpha_k sum to no more than alpha. So the chance that any is
wrongly accepted is at most alpha, whatever the claims share, such as one baseline (Bonferroni).
Nine tenths are for the planned claims in equal parts, so that the last of them is judged as the
first. The rest is for those beyond the plan, in parts that fall with the square of their number.
Source: Foster & Stine 2008, JRSS B 70, 429 (alpha spending); Tian & Ramdas 2021, Statistical
Methods in Medical Research 30, 976 (online control of the family-wise error, section 3).
What differs: their sequences fall from the first claim on.
"""

import math

PLANNED = 0.9  # fraction of alpha for the planned claims


def level(number: int, planned: int, alpha: float) -> float:
    """Return the level of a claim; the first claim has the number 1."""
    if number <= planned:
        return PLANNED * alpha / planned
    return (1 - PLANNED) * alpha * 6 / (math.pi * (number - planned)) ** 2


def spent(claims: int, planned: int, alpha: float) -> float:
    """Return the sum of the levels of the first `claims` claims."""
    return sum(level(number, planned, alpha) for number in range(1, claims + 1))

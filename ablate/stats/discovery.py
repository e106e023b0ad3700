"""The false-discovery rate by Benjamini and Yekutieli, whatever the dependence of the tests.

Equation: of k sorted p-values the i-th becomes min over j >= i of p_j k c / j, c = 1 + ... + 1 / k.
Source: Benjamini & Yekutieli 2001, Annals of Statistics 29, 1165.
Differs: nothing; written out because the ledger is shown without loading scipy, which has it too.
"""

from collections.abc import Sequence


def false_discovery_rates(p: Sequence[float]) -> list[float]:
    """Adjusted p-values: all up to q are decided with an expected share of at most q of errors."""
    factor = len(p) * sum(1 / rank for rank in range(1, len(p) + 1))
    found, reached = [1.0] * len(p), 1.0
    for rank, k in sorted(enumerate(sorted(range(len(p)), key=p.__getitem__), 1), reverse=True):
        reached = min(reached, p[k] * factor / rank)
        found[k] = reached
    return found

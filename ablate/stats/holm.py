"""Holm's correction over the claims of a study.

Source: Holm 1979, A simple sequentially rejective multiple test procedure.

Each claim has two tests, behind "supported" and behind "refuted". They are the two directions of
one question, of which at most one is wrong at a time, and each p-value is already on the scale of
the claim's alpha; so the family has one member per claim, represented by the smaller of its two
p-values (Shaffer 1980, Annals of Statistics 8, 1342: Holm's procedure with directional decisions).
A decision about a claim is wrong if the decided direction is wrong. The probability that any
decision of the study is wrong is then at most alpha for independent claims; claims that share an
arm are covered by simulation (docs/explanation/calibration.md).
"""

from collections.abc import Sequence

Tests = dict[str, float]


def adjust(tests: Sequence[Tests], alphas: Sequence[float]) -> list[Tests]:
    """Return p-values adjusted by Holm's procedure, to be compared with the alpha of each claim.

    Claims are ranked by the smaller of their two p-values divided by their alpha, so that alphas
    may differ. The family-wise error rate is then at most the largest alpha.
    """
    ratios = [min(p.values()) / alpha for p, alpha in zip(tests, alphas, strict=True)]
    order = sorted(range(len(tests)), key=ratios.__getitem__)
    adjusted: list[Tests] = [{} for _ in tests]
    reached = 0.0  # in units of alpha: adjusted p-values must not decrease along the ranks
    for rank, k in enumerate(order):
        left = len(tests) - rank
        adjusted[k] = {
            key: min(1.0, max(p * left, reached * alphas[k])) for key, p in tests[k].items()
        }
        reached = min(adjusted[k].values()) / alphas[k]
    return adjusted

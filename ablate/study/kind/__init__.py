"""Every kind of claim by its name: a class with its checks, its rule, its power and its words."""

from collections.abc import Mapping

from ablate.study.kind.base import Kind
from ablate.study.kind.equivalence import Equivalence
from ablate.study.kind.exact import ExactKind
from ablate.study.kind.non_inferiority import NonInferiority
from ablate.study.kind.stability import Stability
from ablate.study.kind.superiority import Superiority
from ablate.study.kind.trend import Trend
from ablate.study.kind.within_best import WithinBest

KINDS: dict[str, Kind] = {
    "exact": ExactKind(),
    "superiority": Superiority(),
    "equivalence": Equivalence(),
    "non_inferiority": NonInferiority(),
    "within_best": WithinBest(),
    "stability": Stability(),
    "trend": Trend(),
}


def kind_of(claim: Mapping[str, object]) -> Kind:
    """The class of a claim's kind."""
    return KINDS[str(claim["kind"])]

"""List all kinds of claims by name; the class of a kind has its checks, its rule and its power."""

from collections.abc import Mapping

from ablate.verdict.kind.base import Kind
from ablate.verdict.kind.exact import ExactKind
from ablate.verdict.kind.sameness import Equivalence, NonInferiority
from ablate.verdict.kind.stability import Stability
from ablate.verdict.kind.superiority import Superiority, Trend

KINDS: dict[str, Kind] = {
    "exact": ExactKind(),
    "superiority": Superiority(),
    "equivalence": Equivalence(),
    "non_inferiority": NonInferiority(),
    "stability": Stability(),
    "trend": Trend(),
}


def kind_of(claim: Mapping[str, object]) -> Kind:
    """Return the object with the rule for a claim, by the claim's key `kind`."""
    return KINDS[str(claim["kind"])]

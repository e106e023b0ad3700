"""Arguments that are single keys of the config and reach a constructor in groups."""

from dataclasses import dataclass

import pytest

from ablate.config.construct import Arguments, nest_arguments, parameters


@dataclass(frozen=True, kw_only=True)
class Inner(Arguments):
    low: int
    high: int = 9


class Outer:
    def __init__(self, *, name: str, inner: Inner) -> None:
        self.name, self.inner = name, inner


def test_fields_stand_beside_the_other_arguments():
    assert [*parameters(Outer)] == ["name", "low", "high"]
    assert parameters(Outer)["low"].annotation is int


@pytest.mark.parametrize("given", [{"low": 1}, {"low": 2, "high": 3}, {"high": 1, "low": 0}])
def test_fields_are_gathered(given):
    outer = Outer(**nest_arguments(Outer, {"name": "x", **given}))
    assert (outer.name, outer.inner) == ("x", Inner(**given))

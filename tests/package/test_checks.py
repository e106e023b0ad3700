"""The checks of types and shapes that all tests make: none is lost where an earlier call passed."""

import beartype
import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from ..conftest import check_once


@pytest.fixture
def calls():
    """The arguments of all calls of the function below."""
    return []


@pytest.fixture
def widened(calls):
    """A function that adds columns, and whose result has a shape that it does not state."""

    def add(x: Float[Tensor, "B D"], columns: int) -> Float[Tensor, "B D"]:
        calls.append((x, columns))
        return torch.cat([x, torch.zeros(len(x), columns)], 1)

    return check_once(add, typechecker=beartype.beartype)


def test_a_call_with_known_arguments_and_another_result_is_refused(widened, calls):
    x = torch.ones(2, 3)
    assert torch.equal(widened(x, 0), x) and torch.equal(widened(x=x, columns=0), x)
    for _ in range(2):
        with pytest.raises(TypeCheckError):
            widened(x, 1)
    assert len(calls) == 4  # the function was called once each


@pytest.mark.parametrize(
    "x", [torch.ones(3), torch.ones(2, 3, dtype=torch.long), [torch.ones(2, 3)], None]
)
def test_arguments_of_another_form_are_refused_after_a_call_that_passed(widened, x):
    widened(torch.ones(2, 3), 0)
    with pytest.raises(TypeCheckError):
        widened(x, 0)
    with pytest.raises(TypeCheckError):
        widened(torch.ones(2, 3), 0.5)

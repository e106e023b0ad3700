"""From a config node to the object it describes."""

from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from ablate.errors import UserError


def construct(node: Any, **arguments: Any) -> Any:
    """Return what the `_target_` of a node gives, nested nodes first; typed nodes as dataclasses.

    Raises:
        UserError: a constructor refused its arguments; Hydra would wrap it in its own exception.
    """
    try:
        return instantiate(node, **arguments, _convert_="object")
    except InstantiationException as error:
        refusal = _user_error(error)
        if refusal is None:
            raise
        raise refusal from None


def _user_error(error: BaseException | None) -> UserError | None:
    """The UserError behind an error that Hydra wrapped, if there is one."""
    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or error.__context__
    return error

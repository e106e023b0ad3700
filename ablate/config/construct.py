"""Construct objects from config nodes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf

from ablate.errors import UserError


class BuildError(UserError):
    """A component rejected its arguments, or its constructor failed."""


def construct(node: Any, **arguments: Any) -> Any:
    """Construct the `_target_` of a node, nested nodes first; typed nodes become dataclasses.

    Raises:
        UserError: a constructor rejected its arguments or failed; the message names the node.
    """
    try:
        return instantiate(node, **arguments, _convert_="object")
    except InstantiationException as error:
        if (refusal := _user_error(error)) is not None:
            raise refusal from None
        key = str(error).rpartition("full_key: ")[2].strip()
        raise _unbuildable(key, _node_at(key, node), error) from error


def _node_at(key: str, node: Any) -> Any:
    """Return the node at a full key, relative to a node whose position in the config is unknown."""
    parts = key.split(".")
    inner = (OmegaConf.select(node, ".".join(parts[i:])) for i in range(len(parts)))
    return next(filter(OmegaConf.is_dict, inner), node)


@contextmanager
def building(key: str, node: Any) -> Iterator[None]:
    """Convert exceptions of a factory to a UserError that names its config node.

    Raises:
        UserError: the factory raised an exception.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise _unbuildable(key, node, error) from error


def _unbuildable(key: str, node: Any, error: Exception) -> BuildError:
    cause = error.__cause__ or error
    message = next(iter(str(cause).splitlines()), "") or type(cause).__name__
    if missing := re.search(r"missing \d+ required .*?'(\w+)'", message):
        name = f"{key}.{missing[1]}"
        return BuildError(f"{name} has no value; set {name}=VALUE")
    return BuildError(f"{', '.join(_blamed(key, node, message))}: {message}")


def _blamed(key: str, node: Any, message: str) -> list[str]:
    """Return the settings that a message mentions by name or by value; all settings otherwise."""
    if node is None:
        return [key]
    words = set(re.findall(r"-?[\w.-]*\w", message))
    plain = {k: v for k, v in node.items() if k[0] != "_" and not OmegaConf.is_dict(v)}
    named = [k for k in plain if k in words]
    valued = [k for k in plain if isinstance(plain[k], str) and plain[k] in words]
    return [f"{key}.{k}={plain[k]}" for k in named or valued or plain] or [key]


def _user_error(error: BaseException | None) -> UserError | None:
    """Return the UserError that Hydra has wrapped, if there is one."""
    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or error.__context__
    return error

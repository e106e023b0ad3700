"""From a config node to the object it describes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf

from ablate.errors import UserError


class BuildError(UserError):
    """A component refused its arguments, or failed while it was built."""


def construct(node: Any, **arguments: Any) -> Any:
    """Return what the `_target_` of a node gives, nested nodes first; typed nodes as dataclasses.

    Raises:
        UserError: a constructor refused its arguments or failed; the sentence names the node.
    """
    try:
        return instantiate(node, **arguments, _convert_="object")
    except InstantiationException as error:
        if (refusal := _user_error(error)) is not None:
            raise refusal from None
        key = str(error).rpartition("full_key: ")[2].strip()
        raise _unbuildable(key, _node_at(key, node), error) from error


def _node_at(key: str, node: Any) -> Any:
    """Return the node of a full key, which lies in a node whose own place nobody says."""
    parts = key.split(".")
    inner = (OmegaConf.select(node, ".".join(parts[i:])) for i in range(len(parts)))
    return next(filter(OmegaConf.is_dict, inner), node)


@contextmanager
def building(key: str, node: Any) -> Iterator[None]:
    """Name a node in errors of calling the factory that it describes.

    Raises:
        UserError: whatever the factory raised, as a sentence.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise _unbuildable(key, node, error) from error


def _unbuildable(key: str, node: Any, error: Exception) -> BuildError:
    cause = error.__cause__ or error
    said = next(iter(str(cause).splitlines()), "") or type(cause).__name__
    if missing := re.search(r"missing \d+ required .*?'(\w+)'", said):
        name = f"{key}.{missing[1]}"
        return BuildError(f"{name} has no value; say {name}=VALUE")
    return BuildError(f"{', '.join(_blamed(key, node, said))}: {said}")


def _blamed(key: str, node: Any, said: str) -> list[str]:
    """The settings that an error speaks of, by name or else by value; all, where it does not."""
    if node is None:
        return [key]
    words = set(re.findall(r"-?[\w.-]*\w", said))
    plain = {k: v for k, v in node.items() if k[0] != "_" and not OmegaConf.is_dict(v)}
    named = [k for k in plain if k in words]
    valued = [k for k in plain if isinstance(plain[k], str) and plain[k] in words]
    return [f"{key}.{k}={plain[k]}" for k in named or valued or plain] or [key]


def _user_error(error: BaseException | None) -> UserError | None:
    """The UserError behind an error that Hydra wrapped, if there is one."""
    while error is not None and not isinstance(error, UserError):
        error = error.__cause__ or error.__context__
    return error

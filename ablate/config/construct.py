"""Map flat config keys to constructors that take related arguments as one dataclass.

The config of a model is flat, so that an override is as short as `model.n_heads=8`.
"""

import dataclasses
import inspect
import logging
import re
from bdb import BdbQuit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hydra.utils import instantiate
from omegaconf import OmegaConf

from ablate.errors import UserError, first_line

PASSED = (UserError, BdbQuit)  # errors that need no other message; `exit_statuses` handles them
VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
# argument of Hydra 1.4: a list of the targets that may be called. It holds what the node names:
# a user's own config may name anything, and ablate.config.trust checks that of a run from elsewhere
ALLOWED = {"_execution_whitelist_"} & inspect.signature(instantiate).parameters.keys()


class Arguments:
    """Base class of dataclasses whose fields are separate keys of the config."""


def parameters(kind: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the named arguments of a constructor; an argument of type `Arguments` is replaced by
    the fields of its dataclass.
    """
    flat: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if _gathers(parameter):
            flat |= parameters(parameter.annotation)
        elif parameter.kind not in VARIADIC:
            flat[name] = parameter
    return flat


def nest_arguments(kind: Callable[..., object], given: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments with which to call a constructor: `given`, in which the fields of an
    `Arguments` dataclass are replaced by an object of the dataclass.
    """
    rest = dict(given)
    groups: dict[str, object] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if _gathers(parameter):
            names = [f.name for f in dataclasses.fields(parameter.annotation) if f.name in rest]
            groups[name] = parameter.annotation(**{field: rest.pop(field) for field in names})
    return rest | groups


def _gathers(parameter: inspect.Parameter) -> bool:
    kind = parameter.annotation
    return isinstance(kind, type) and issubclass(kind, Arguments)


logging.getLogger("hydra.utils").setLevel(logging.CRITICAL)  # it would print each error, too


class BuildError(UserError):
    """The error of a component that rejected its arguments, or whose constructor failed."""


def construct(node: Any, **arguments: Any) -> Any:
    """Construct the object that a node describes by `_target_`; nested nodes are constructed first.

    Nodes with a dataclass as type become objects of the dataclass.

    Raises:
        UserError: a constructor rejected its arguments or failed; the message names the node.
        BdbQuit: the user left the debugger in a constructor.
    """
    allowed: Any = {key: [*_targets([node, arguments])] for key in ALLOWED}
    try:
        return instantiate(node, **arguments, **allowed, _convert_="object")
    except Exception as error:  # under Hydra 1.4 that of the constructor
        if (passed := _passed(error)) is not None:
            raise passed from None
        message = "\n".join([str(error), *getattr(error, "__notes__", [])])  # notes are Hydra 1.4's
        key = message.rpartition("full_key: ")[2].strip()
        raise _unbuildable(key, _node_at(key, node), error) from error


def _targets(node: Any) -> Iterator[str]:
    """Yield the targets that a config node and the nodes below it name."""
    if OmegaConf.is_config(node):
        node = OmegaConf.to_container(node, resolve=True)
    if isinstance(node, dict):
        yield from (target for key, target in node.items() if key == "_target_")
        node = [*node.values()]
    for child in node if isinstance(node, list) else ():
        yield from _targets(child)


def _node_at(key: str, node: Any) -> Any:
    """Return the part of a constructed config node that Hydra's error message names by its full
    key, such as `model.encoder.attention`; the whole node if there is no such part.

    Args:
        key: full key of the node in the config.
        node: the constructed node. It may be any part of the config, and its key is unknown.
            Therefore every suffix of `key` is looked up in the node, the longest first.
    """
    parts = key.split(".")
    inner = (OmegaConf.select(node, ".".join(parts[i:])) for i in range(len(parts)))
    return next(filter(OmegaConf.is_dict, inner), node)


@contextmanager
def building(key: str, node: Any) -> Iterator[None]:
    """Turn exceptions in a `with` block that constructs an object into a UserError.

    Args:
        key: config key of the object, for the message.
        node: the config node of the object.

    Raises:
        UserError: the block raised an exception.
    """
    try:
        yield
    except PASSED:
        raise
    except Exception as error:
        raise _unbuildable(key, node, error) from error


def _unbuildable(key: str, node: Any, error: Exception) -> BuildError:
    message = first_line(error.__cause__ or error)
    return BuildError(f"{', '.join(_blamed(key, node, message))}: {message}")


def _blamed(key: str, node: Any, message: str) -> list[str]:
    """Return the settings of a node, as `KEY=VALUE`, that an error message mentions; if none, all
    settings.
    """
    if node is None:
        return [key]
    words = set(re.findall(r"-?[\w.-]*\w", message))
    plain = {k: v for k, v in node.items() if k[0] != "_" and not OmegaConf.is_dict(v)}
    named = [k for k in plain if k in words]
    valued = [k for k in plain if isinstance(plain[k], str) and plain[k] in words]
    return [f"{key}.{k}={plain[k]}" for k in named or valued or plain] or [key]


def _passed(error: BaseException | None) -> BaseException | None:
    """Return the error of one of the classes in PASSED that Hydra has wrapped, if there is one."""
    while error is not None and not isinstance(error, PASSED):
        error = error.__cause__ or error.__context__
    return error

"""Map flat config keys to constructors that take related arguments as one dataclass.

The config of a model is flat, so that an override is as short as `model.n_heads=8`.
"""

import dataclasses
import inspect
import logging
from bdb import BdbQuit
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hydra.utils import instantiate
from omegaconf import OmegaConf

from ablate.errors import UserError

PASSED = (UserError, BdbQuit)  # errors that `ablate.cli.parser` handles without Hydra's message
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


def nest_arguments(kind: Callable[..., object], flat: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments with which to call a constructor, given the values of config keys.

    The values in `flat` that are fields of an `Arguments` dataclass become one object of this
    dataclass; the other values stay.
    """
    rest = dict(flat)
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


def construct(node: Any, **arguments: Any) -> Any:
    """Construct the object that a node describes by `_target_`; nested nodes are constructed first.

    Nodes with a dataclass as type become objects of the dataclass.

    Raises:
        InstantiationException: Hydra's error, which names the node, if a constructor rejected its
            arguments or failed.
        UserError, BdbQuit: a constructor raised this error.
    """
    allowed: Any = {key: [*_targets([node, arguments])] for key in ALLOWED}
    try:
        return instantiate(node, **arguments, **allowed, _convert_="object")
    except Exception as error:  # under Hydra 1.4 that of the constructor
        if (passed := _passed(error)) is not None:
            raise passed from None
        raise


def _targets(node: Any) -> Iterator[str]:
    """Yield each value of `_target_` in a config node and in the nodes below it."""
    if OmegaConf.is_config(node):
        node = OmegaConf.to_container(node, resolve=True)
    if isinstance(node, dict):
        yield from (target for key, target in node.items() if key == "_target_")
        node = [*node.values()]
    for child in node if isinstance(node, list) else ():
        yield from _targets(child)


def _passed(error: BaseException | None) -> BaseException | None:
    """Return the error of one of the classes in PASSED that Hydra has wrapped, if there is one."""
    while error is not None and not isinstance(error, PASSED):
        error = error.__cause__ or error.__context__
    return error

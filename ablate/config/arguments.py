"""Map flat config keys to constructors that take related arguments as one dataclass.

The config of a model is flat, so that an override is as short as `model.n_heads=8`.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping

VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


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

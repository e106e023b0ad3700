"""Check whether a config value has the type of an annotation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig, ListConfig, OmegaConf

PLAIN = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    type(None): "null",
}
LIST = "a list"
LISTS = (list, tuple, Sequence, Iterable)
MAPPINGS = (dict, Mapping)


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union type; for any other annotation, the annotation itself."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(inner for part in get_args(kind) for inner in alternatives(part))


def is_simple(kind: Any) -> bool:
    """Return whether a type is that of a plain config value, such as a number or a text."""
    return get_origin(kind) is Literal or (isinstance(kind, type) and kind in PLAIN)


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value has the given type; true if only the constructor can decide this."""
    origin = get_origin(kind)
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in get_args(kind))
    if origin in LISTS:
        items = get_args(kind)  # of a tuple, several
        return isinstance(value, ListConfig) and all(
            any(_fits_any(each, item) for item in items) for each in value
        )
    if origin in MAPPINGS:
        item = get_args(kind)[1]
        return isinstance(value, DictConfig) and all(
            OmegaConf.is_missing(value, key) or _fits_any(value[key], item) for key in value
        )  # `check` reports missing values
    if kind is float:
        return type(value) in (int, float)
    if isinstance(kind, type) and kind not in (Any, object):
        return type(value) is kind if kind in PLAIN else type(value) not in (*PLAIN, ListConfig)
    return origin is not Callable or isinstance(value, DictConfig)  # the factory of a component


def _fits_any(value: Any, annotation: Any) -> bool:
    return any(fits(value, kind) for kind in alternatives(annotation))


def must_be(kinds: Sequence[Any], value: Any) -> str:
    """Return a phrase for an error message: what a value must be, instead of `value`."""
    form = describe(kinds)
    if form == LIST and isinstance(value, ListConfig):
        return f"each item must be {describe(alternatives(get_args(kinds[0])[0]))}"
    example = (
        f", such as [{value}]" if form == LIST and isinstance(value, str | int | float) else ""
    )
    return f"it must be {form}{example}"


def shown(value: Any) -> str:
    """Return a value as a user writes it in an override."""
    return {None: "null", True: "true", False: "false"}[value] if _is_word(value) else str(value)


def _is_word(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def describe(kinds: Iterable[Any]) -> str:
    """Describe types in words, without duplicates, joined by "or"."""
    names = dict.fromkeys(name for kind in kinds for name in _names(kind))
    if PLAIN[float] in names:
        names.pop(PLAIN[int], None)
    return " or ".join(names)


def _names(kind: Any) -> list[str]:
    """Return the values of a `Literal`, or the name of another type; [] if it has no name."""
    origin = get_origin(kind)
    if origin is Literal:
        return [str(value) for value in get_args(kind)]
    if origin in LISTS:
        return [LIST]
    if origin in MAPPINGS or is_dataclass(kind):
        return ["keys with their values, such as {KEY: VALUE}"]
    if origin is Callable:
        return ["an option (chosen with a slash, as in model/norm=OPTION)"]
    return [PLAIN[kind]] if isinstance(kind, type) and kind in PLAIN else []

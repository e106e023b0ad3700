"""Types and allowed values of config keys, written as annotations: `Annotated[int, Range(1)]`.

`ablate.config.check` reads these annotations in the schema and in the constructors of components.
Numbers without limits must still be finite.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig, ListConfig, OmegaConf

from ablate.errors import UserError

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


UNITS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}  # in seconds


@dataclass(frozen=True)
class Range:
    """The condition that a number is in a closed interval; with `above`, the lower end is
    excluded.
    """

    least: int | float
    most: int | float = math.inf
    above: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether a number is in the range; true for values of other types."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return self.least <= value <= self.most and not (self.above and value == self.least)

    def __str__(self) -> str:
        lower = f"be above {self.least}" if self.above else f"be at least {self.least}"
        return lower if self.most == math.inf else f"{lower} and at most {self.most}"


@dataclass(frozen=True)
class OneOf:
    """The condition that a value is one of several words, or null or false if these are listed."""

    words: tuple[str | bool | None, ...]

    def allows(self, value: Any) -> bool:
        """Return whether a value is one of the allowed words."""
        return value in self.words

    def __str__(self) -> str:
        names: dict[object, str] = {None: "null", False: "false"}
        return f"be {' or '.join(names.get(word, str(word)) for word in self.words)}"


@dataclass(frozen=True)
class Rule:
    """Any other condition.

    Args:
        text: the condition as the end of the error message "it must ...".
        allows: function that returns whether a value is allowed; true for values of types to which
            the condition does not apply.
    """

    text: str
    allows: Callable[[Any], bool]

    def __str__(self) -> str:
        return self.text


Limit = Range | OneOf | Rule  # `str(limit)` completes the error message "it must ..."


def _is_duration(value: Any) -> bool:
    """Return whether a text such as 00:12:00:00, or {hours: 12}, is a positive duration."""
    if isinstance(value, str):
        parts = value.split(":")
        whole = len(parts) == len(UNITS) and all(p.isascii() and p.isdigit() for p in parts)
        return whole and any(map(int, parts))
    if isinstance(value, Mapping):
        numbers = all(isinstance(number, int | float) for number in value.values())
        units = numbers and UNITS.keys() >= set(value)
        return units and sum(n * UNITS[unit] for unit, n in value.items()) > 0
    return True


def _are_devices(value: Any) -> bool:
    """Return whether a value is possible for the devices of one machine: their number, "auto", or
    a list of different device indices.
    """
    if isinstance(value, int | float):
        return DEVICES.allows(value)
    if isinstance(value, str):
        return value == "auto"
    distinct = len(set(value)) == len(value) > 0
    return distinct and all(0 <= number < DEVICES.most for number in value)


def _are_betas(value: Any) -> bool:
    if not isinstance(value, Sequence):
        return True
    return len(value) == 2 and not any(beta < 0 or beta >= 1 for beta in value)


def check_one_of(key: str, value: object, allowed: Collection[str]) -> None:
    """Raise UserError unless a value of a config key is one of the allowed words."""
    if value not in allowed:
        raise UserError(f"{key} is {value!r}: it must be one of {tuple(allowed)}")


def check_fraction(key: str, value: float) -> None:
    """Raise UserError unless a value of a config key is at least 0 and below 1."""
    if not 0 <= value < 1:
        raise UserError(f"{key} is {value}: it must be at least 0 and below 1")


DEVICES = Range(1, 64)  # of one machine
COUNT = Range(1, 2**31 - 1)
PAIRS = Range(1, 10**7)  # can be generated in minutes and fit into memory
Seed = Annotated[int, Range(0, 2**63 - 1)]  # range of torch's generators
Count = Annotated[int, Range(1)]
Size = Annotated[int, COUNT]  # fits into 32 bits

NOT_EMPTY = Rule("not be empty", lambda value: not isinstance(value, Collection) or len(value) > 0)
BETAS = Rule("have 2 items, each at least 0 and below 1, such as [0.9,0.98]", _are_betas)
POSITIVE_TIME = Rule(
    f"be longer than no time, as DD:HH:MM:SS or as {{{'|'.join(UNITS)}: NUMBER}}", _is_duration
)
DEVICE_NUMBERS = Rule(
    f"{DEVICES}, or the numbers of GPUs in a list such as [0,1], each once, or auto", _are_devices
)

# "auto" and short names are resolved earlier (ablate.config.settle)
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true", "64-true")

# Limits of arguments that have no annotation. External classes accept invalid values. The source
# code of the built-in corpus must not change, because it is part of the identity of its text.
FOREIGN: tuple[tuple[str, Limit], ...] = (
    *((f"data.n_{split}", PAIRS) for split in ("train", "validation", "test", "test_long")),
    ("optimizer.lr", Range(0)),
    ("optimizer.betas", BETAS),
    ("optimizer.eps", Range(0)),
    ("optimizer.weight_decay", Range(0)),
    ("callbacks.timer.duration", POSITIVE_TIME),
    ("trainer.devices", DEVICE_NUMBERS),
    ("trainer.num_nodes", Range(1, 4096)),
    ("trainer.accumulate_grad_batches", COUNT),
    ("trainer.check_val_every_n_epoch", COUNT),
    ("trainer.limit_train_batches", Range(0, 2**31 - 1, above=True)),
    ("trainer.limit_val_batches", Range(0, 2**31 - 1, above=True)),
    ("trainer.max_steps", COUNT),
    ("trainer.min_steps", COUNT),
    ("trainer.max_time", POSITIVE_TIME),
    ("trainer.val_check_interval", Range(0, 2**31 - 1, above=True)),
    ("trainer.val_check_interval", POSITIVE_TIME),
    ("trainer.log_every_n_steps", Range(0, 2**31 - 1)),
    ("trainer.gradient_clip_val", Range(0)),
    ("trainer.gradient_clip_algorithm", OneOf(("norm", "value", None))),
    ("trainer.profiler", OneOf(("simple", "advanced", "pytorch", None))),
    ("trainer.precision", OneOf(PRECISIONS)),
    ("trainer.compile", OneOf((False, "default", "reduce-overhead"))),
)

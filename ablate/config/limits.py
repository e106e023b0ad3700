"""Types and allowed values of config keys, written as annotations: `Annotated[int, Range(1)]`.

pydantic checks them (`check_value`), in the schema and in the constructors of components. Numbers
without limits must still be finite.

The values that a command sets are checked before the classes of the components are imported
(`check_words`). Their modules import torch, which takes longer than everything else before
training. So the types of a constructor's arguments are read from its source. A type that cannot be
read this way counts as `Any`. Then `ablate.config.check` checks the value of the imported class.
"""

import ast
import builtins
import importlib
import importlib.util
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig, ListConfig, OmegaConf

from ablate.config.location import spec_of
from ablate.errors import UserError

PLAIN = (int, float, str, bool, NoneType)
LISTS = (list, tuple, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
ANNOTATED: Any = Annotated  # of types that are computed
UNION: Any = Union
GROUP = "it is a group of keys: choose an option, as in model/norm=OPTION"
LIGHT = ("typing", "collections.abc", "ablate.config.limits")  # modules that are imported
Types = dict[str, Any]  # of arguments, by name
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SETTLED = "trainer.precision"  # `settle` replaces short values before they are checked


def check_value(key: str, value: Any, annotation: Any) -> None:
    """Raise UserError if a value of a config key does not have the type of an annotation, or is not
    allowed.
    """
    from pydantic import ValidationError  # takes a tenth of a second

    plain = value
    if isinstance(value, ListConfig | DictConfig) and _reads_items(annotation):
        plain = OmegaConf.to_container(value, resolve=True)
    limits = [limit for name, limit in FOREIGN if name == key]
    try:
        _adapter(annotation).validate_python(plain)
        for limit in limits:
            _limited(plain, limit=limit)
    except ValidationError as error:
        messages = dict.fromkeys(e["msg"].removeprefix("Value error, ") for e in error.errors())
        named = [text for text in messages if text != GROUP] or messages  # an object in a union
        raise UserError(f"{key}={_shown(value)}: {', or '.join(named)}") from None
    except ValueError as error:
        raise UserError(f"{key}={_shown(value)}: {error}") from None


def _shown(value: Any) -> str:
    """Return a value as a user writes it in an override."""
    is_word = value is None or isinstance(value, bool)
    return {None: "null", True: "true", False: "false"}[value] if is_word else str(value)


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union type; for any other annotation, the annotation itself."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(inner for part in get_args(kind) for inner in alternatives(part))


def _reads_items(annotation: Any) -> bool:
    """Return whether a value is a list, or a mapping whose items have a type."""
    lists = any(get_origin(kind) in LISTS for kind in alternatives(annotation))
    mappings = [kind for kind in alternatives(annotation) if get_origin(kind) in MAPPINGS]
    return lists or any(get_args(kind)[1] is not Any for kind in mappings)


@cache
def _adapter(annotation: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(_form(annotation), config=ConfigDict(strict=True))


def _form(annotation: Any) -> Any:
    """Return the type that a value in the config has, for an annotation of a constructor's argument
    or of a key: an object is written as a node of keys, and a tuple as a list.
    """
    from pydantic import AfterValidator

    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = [x for x in annotation.__metadata__ if isinstance(x, Limit)]
        checks = [AfterValidator(partial(_limited, limit=limit)) for limit in limits]
        return ANNOTATED[_form(parts[0]), *checks] if checks else _form(parts[0])
    if origin in (Union, UnionType):
        return UNION[tuple(map(_form, parts))]
    if origin in LISTS:
        items = tuple(_form(part) for part in parts if part is not ...)
        return list.__class_getitem__(UNION[items])
    if origin in MAPPINGS and parts[1] is not Any:
        return dict.__class_getitem__((str, _form(parts[1])))
    if origin is Literal or annotation in PLAIN or annotation in (Any, None):
        return annotation
    is_node = isinstance(annotation, type) or origin in (Callable, *MAPPINGS)
    return Annotated[Any, AfterValidator(_node)] if is_node and annotation is not object else Any


def _limited(value: Any, limit: "Limit") -> Any:
    if not limit.allows(value):
        raise ValueError(f"it must {limit}")
    return value


def _node(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str | list | ListConfig):
        raise ValueError(GROUP)
    return value


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


def check_words(config: DictConfig, words: Sequence[str]) -> None:
    """Raise UserError for the first override whose value has a wrong type or is not allowed."""
    for word in words:
        key = word.lstrip("+").partition("=")[0]
        path, _, name = key.rpartition(".")
        node: Any = None if "/" in key or not path else OmegaConf.select(config, path)
        if OmegaConf.is_dict(node) and {"_target_", name} <= {*node} and key != SETTLED:
            check_value(key, node[name], argument_types(str(node["_target_"])).get(name, Any))


def argument_types(target: str) -> Types:
    """Return the types of the named arguments of a class or function, as far as its source has
    them.
    """
    module, _, name = target.rpartition(".")
    return _types(_Names(module).value(ast.Name(name, ast.Load())))


def _types(kind: Any) -> Types:
    """Return the types of the named arguments of a definition that `_Names` has read."""
    node, names = getattr(kind, "source", (None, _Names("")))
    if isinstance(node, FUNCTIONS):
        return _of_function(node, names)
    if not isinstance(node, ast.ClassDef):
        return {}
    types: Types = {}
    init = next((f for f in node.body if isinstance(f, FUNCTIONS) and f.name == "__init__"), None)
    if init is None or init.args.kwarg:
        for base in reversed(node.bases):
            types |= _types(names.value(base))
    for field in node.body if node.decorator_list else ():  # of a dataclass
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            types[field.target.id] = names.value(field.annotation)
    return types | (_of_function(init, names) if init else {})


def _of_function(function: FUNCTIONS, names: "_Names") -> Types:
    types: Types = {}
    for argument in (*function.args.args, *function.args.kwonlyargs):
        if argument.annotation is not None:
            kind = names.value(argument.annotation)
            node, _ = getattr(kind, "source", (None, None))
            # the fields of such a class are separate keys of the config
            if isinstance(node, ast.ClassDef) and "Arguments" in map(ast.unparse, node.bases):
                types |= _types(kind)
            types[argument.arg] = kind
    return types


class _Names(dict[str, Any]):
    """The values of the names at the top of a module, each computed when it is needed.

    A class or function is replaced by an empty class, whose attribute `source` has the definition.
    """

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression; Any if only an import could compute it."""
        try:
            code = compile(ast.Expression(ast.fix_missing_locations(node)), self.module, "eval")
            return eval(code, {"__builtins__": {}}, self)
        except Exception:
            return Any

    def __missing__(self, name: str) -> Any:
        meaning = _statements(self.module).get(name)
        if meaning is None:
            return getattr(builtins, name)
        if isinstance(meaning, str):
            place, _, last = meaning.rpartition(".")
            light = place in LIGHT
            home = importlib.import_module(place) if light else _Module(place)
            return getattr(home, last) if last else home
        if isinstance(meaning, ast.expr):
            return self.value(meaning)
        return type(name, (), {"source": (meaning, self)})


class _Module:
    """A module that is not imported: its attributes are the values of its names."""

    def __init__(self, name: str) -> None:
        self._names = _Names(name)

    def __getattr__(self, name: str) -> Any:
        return self._names[name]


@cache
def _statements(module: str) -> Mapping[str, ast.AST | str]:
    """Return the meaning of each name at the top of a module: its definition, or the dotted name
    that it imports, of a whole module with a dot at the end; {} without source.
    """
    spec = spec_of(module) if module else None
    if spec is None or not str(spec.origin).endswith(".py"):
        return {}
    package = module.rpartition(".")[0] if spec.submodule_search_locations is None else module
    names: dict[str, ast.AST | str] = {}
    for node in ast.parse(Path(str(spec.origin)).read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname: f"{alias.name}." for alias in node.names if alias.asname}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.Assign):
            names |= {x.id: node.value for x in node.targets if isinstance(x, ast.Name)}
    return names

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
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from ablate.config.location import spec_of
from ablate.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig  # slow to import, and readers of evidence do not need it

PLAIN = (int, float, str, bool, NoneType)
LISTS = (list, tuple, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
ANNOTATED: Any = Annotated  # of types that are computed
UNION: Any = Union
GROUP = "it is a group of keys: choose an option, as in model/norm=OPTION"
LIGHT = ("typing", "collections.abc", "ablate.config.limits")  # modules that are imported
Types = dict[str, Any]  # by name
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SETTLED = "trainer.precision"  # `settle` replaces short values before they are checked


def check_value(key: str, value: Any, annotation: Any) -> None:
    """Raise UserError if a value of a config key does not have the type of an annotation, or is not
    allowed.
    """
    from pydantic import ValidationError  # takes a tenth of a second

    try:
        _adapter(
            annotation, tuple(limit for name, limit in FOREIGN if name == key)
        ).validate_python(value)
    except ValidationError as error:
        messages = dict.fromkeys(e["msg"].removeprefix("Value error, ") for e in error.errors())
        named = [text for text in messages if text != GROUP] or messages  # an object in a union
        words = {None: "null", True: "true", False: "false"}
        shown = words[value] if value is None or isinstance(value, bool) else value
        raise UserError(f"{key}={shown}: {', or '.join(named)}") from None


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union type; for any other annotation, the annotation itself."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(inner for part in get_args(kind) for inner in alternatives(part))


@cache
def _adapter(annotation: Any, limits: tuple[Any, ...]) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    form = _form(annotation)
    return TypeAdapter(
        ANNOTATED[(form, *limits)] if limits else form, config=ConfigDict(strict=True)
    )


def _form(annotation: Any) -> Any:
    """Return the type that a value in the config has, for an annotation of a constructor's argument
    or of a key: an object is written as a node of keys, and a tuple as a list.
    """
    from pydantic import AfterValidator, BeforeValidator

    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = [part for part in parts[1:] if isinstance(part, Limit)]
        return ANNOTATED[(_form(parts[0]), *limits)] if limits else _form(parts[0])
    if origin in (Union, UnionType):
        return UNION[tuple(map(_form, parts))]
    if origin in LISTS:
        items = tuple(_form(part) for part in parts if part is not ...)
        return ANNOTATED[list.__class_getitem__(UNION[items]), BeforeValidator(_plain)]
    if origin in MAPPINGS and parts[1] is not Any:
        form = dict.__class_getitem__((str, _form(parts[1])))
        return ANNOTATED[form, BeforeValidator(_plain)]
    if origin is Literal or annotation in PLAIN or annotation in (Any, None):
        return annotation
    is_node = isinstance(annotation, type) or origin in (Callable, *MAPPINGS)
    return Annotated[Any, AfterValidator(_node)] if is_node and annotation is not object else Any


def _plain(value: Any) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _node(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str | Sequence):
        raise ValueError(GROUP)
    return value


@dataclass(frozen=True)
class Limit:
    """A condition on a value, which pydantic checks.

    Args:
        text: the condition as the end of the error message "it must ...".
        allows: function that returns whether a value is allowed; true for values of types to which
            the condition does not apply.
    """

    text: str
    allows: Callable[[Any], bool] = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return pydantic's schema of a type whose values meet the condition."""
        from pydantic_core.core_schema import no_info_after_validator_function

        def check(value: Any) -> Any:
            if not self.allows(value):
                raise ValueError(f"it must {self}")
            return value

        return no_info_after_validator_function(check, handler(source))


class Range(Limit):
    """The condition that a number is in a closed interval; with `above`, the lower end is
    excluded.
    """

    def __init__(
        self, least: int | float, most: int | float = math.inf, above: bool = False
    ) -> None:
        def allows(value: Any) -> bool:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return True
            return least <= value <= most and not (above and value == least)

        lower = f"be above {least}" if above else f"be at least {least}"
        super().__init__(lower if most == math.inf else f"{lower} and at most {most}", allows)


class OneOf(Limit):
    """The condition that a value is one of several words, or null or false if these are listed."""

    def __init__(self, words: Collection[str | bool | None]) -> None:
        names: dict[object, str] = {None: "null", False: "false"}
        text = " or ".join(names.get(word, str(word)) for word in words)
        super().__init__(f"be {text}", lambda value: value in words)


def _is_duration(value: Any) -> bool:
    """Return whether a text such as 00:12:00:00, or {hours: 12}, is a positive duration."""
    if not isinstance(value, str | Mapping):
        return True
    from pytorch_lightning.callbacks import Timer  # imports torch

    try:
        duration: Any = value if isinstance(value, str) else dict(value)
        return (Timer(duration).time_remaining() or 0) > 0
    except Exception:  # of Lightning for a text, of Python for a mapping
        return False


def _are_devices(value: Any) -> bool:
    """Return whether a value is possible for the devices of one machine: their number, "auto", or
    a list of different device indices.
    """
    if isinstance(value, str):
        return value == "auto"
    if isinstance(value, Sequence):
        return len(set(value)) == len(value) > 0 and all(0 <= n < MOST_DEVICES for n in value)
    return DEVICES.allows(value)


def _are_betas(value: Any) -> bool:
    return not isinstance(value, Sequence) or len(value) == 2 and all(0 <= x < 1 for x in value)


MOST_DEVICES = 64  # of one machine
DEVICES = Range(1, MOST_DEVICES)
COUNT = Range(1, 2**31 - 1)
PAIRS = Range(1, 10**7)  # can be generated in minutes and fit into memory
Seed = Annotated[int, Range(0, 2**63 - 1)]  # range of torch's generators
Count = Annotated[int, Range(1)]
Size = Annotated[int, COUNT]  # fits into 32 bits

NOT_EMPTY = Limit("not be empty", lambda value: not isinstance(value, Collection) or len(value) > 0)
BETAS = Limit("have 2 items, each at least 0 and below 1, such as [0.9,0.98]", _are_betas)
POSITIVE_TIME = Limit(
    "be longer than no time, as DD:HH:MM:SS or as {days|hours|minutes|seconds: NUMBER}",
    _is_duration,
)
DEVICE_NUMBERS = Limit(
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


def check_words(config: "DictConfig", words: Sequence[str]) -> None:
    """Raise UserError for the first override whose value has a wrong type or is not allowed."""
    from omegaconf import OmegaConf

    for word in words:
        key = word.lstrip("+").partition("=")[0]
        path, _, name = key.rpartition(".")
        node: Any = None if "/" in key or not path else OmegaConf.select(config, path)
        if OmegaConf.is_dict(node) and {"_target_", name} <= {*node} and key != SETTLED:
            check_value(key, node[name], argument_types(str(node["_target_"])).get(name, Any))


@cache
def argument_types(target: str) -> Types:
    """Return the types of the named arguments of a class or function, as far as its source has
    them.
    """
    module, node = _definition(target)
    function, pairs, types = node, list[tuple[str, ast.expr]](), Types()
    if isinstance(node, ast.ClassDef):
        inits = (x for x in node.body if isinstance(x, FUNCTIONS) and x.name == "__init__")
        function = next(inits, None)
        fields = node.body if node.decorator_list else ()  # of a dataclass
        pairs = [
            (ast.unparse(x.target), x.annotation) for x in fields if isinstance(x, ast.AnnAssign)
        ]
        for base in reversed(node.bases):
            types |= argument_types(f"{module}.{ast.unparse(base)}")
    if isinstance(function, FUNCTIONS):
        types = types if function.args.kwarg else {}
        arguments = (*function.args.args, *function.args.kwonlyargs)
        pairs += [(each.arg, each.annotation) for each in arguments if each.annotation]
    for name, annotation in pairs:
        kind = f"{module}.{ast.unparse(annotation)}"
        if "Arguments" in map(ast.unparse, getattr(_definition(kind)[1], "bases", ())):
            types |= argument_types(kind)  # the fields of such a class are separate keys
        types[name] = _Names(module).value(annotation)
    return types


def _definition(target: str) -> tuple[str, ast.AST | None]:
    """Return the module that defines a class or function, and the syntax tree of the definition;
    None as the tree if there is no source.
    """
    module, _, name = target.rpartition(".")
    meaning = _definitions(module).get(name)
    place, _, alias = module.rpartition(".")
    imported = _definitions(place).get(alias)
    if isinstance(imported, str) and imported != module:  # an attribute of an imported module
        meaning = f"{imported}.{name}"
    return _definition(meaning) if isinstance(meaning, str) else (module, meaning)


class _Names(Types):
    """The values of the names at the top of a module, each computed when it is needed.

    A class or function is replaced by an empty class.
    """

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression; Any if only an import could compute it."""
        try:
            code = compile(ast.Expression(node), self.module, "eval")
            return eval(code, {"__builtins__": {}}, self)
        except Exception:
            return Any

    def __missing__(self, name: str) -> Any:
        meaning = _definitions(self.module).get(name)
        if isinstance(meaning, ast.expr):
            return self.value(meaning)
        if isinstance(meaning, str):
            place, _, last = meaning.rpartition(".")
            light = place in LIGHT
            return getattr(importlib.import_module(place), last) if light else _Names(place)[last]
        return type(name, (), {}) if meaning else getattr(builtins, name)


@cache
def _definitions(module: str) -> dict[str, ast.AST | str]:
    """Return the meaning of each name at the top of a module: its definition, or the dotted name
    that it imports; {} without source.
    """
    spec = spec_of(module) if module else None
    if spec is None or not str(spec.origin).endswith(".py"):
        return {}
    package = module.rpartition(".")[0] if spec.submodule_search_locations is None else module
    names: dict[str, ast.AST | str] = {}
    for statement in ast.parse(Path(str(spec.origin)).read_bytes()).body:
        names |= _defined_by(statement, package)
    return names


def _defined_by(statement: ast.stmt, package: str) -> dict[str, ast.AST | str]:
    """Return the meaning of each name that a statement of a module in a package defines."""
    match statement:
        case ast.ImportFrom():
            path = "." * statement.level + (statement.module or "")
            base = importlib.util.resolve_name(path, package)
            return {name.asname or name.name: f"{base}.{name.name}" for name in statement.names}
        case ast.Import():
            return {name.asname: name.name for name in statement.names if name.asname}
        case ast.Assign():
            return {ast.unparse(statement.targets[0]): statement.value}
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return {statement.name: statement}
    return {}

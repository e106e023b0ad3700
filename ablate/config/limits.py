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
import importlib.util
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from ablate.config import spec_of
from ablate.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig  # slow to import, and readers of evidence do not need it

PLAIN = (int, float, str, bool, NoneType)
LISTS = (list, tuple, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
ANNOTATED: Any = Annotated  # of types that are computed
UNION: Any = Union
GROUP = (
    "it is a group of keys: set one (model.dropout.rate=0.1), or an option (model/norm=rms_norm)"
)
LIGHT = ("typing", "collections.abc", "ablate.config.limits")  # modules that are imported
Types = dict[str, Any]  # by name
SETTLED = "trainer.precision"  # `settle` replaces short values before they are checked


def check_value(key: str, value: Any, annotation: Any) -> None:
    """Raise UserError if a value of a config key does not have the type of an annotation, or is not
    allowed.
    """
    from pydantic import ValidationError  # takes a tenth of a second

    try:
        _adapter(annotation, FOREIGN.get(key)).validate_python(value)
    except ValidationError as error:
        messages = dict.fromkeys(e["msg"].removeprefix("Value error, ") for e in error.errors())
        named = [text for text in messages if text != GROUP] or messages  # an object in a union
        shown = json.dumps(value) if value is None or isinstance(value, bool) else value
        raise UserError(f"{key}={shown}: {', or '.join(named)}") from None


@cache
def _adapter(annotation: Any, limit: "Limit | None") -> Any:
    from pydantic import ConfigDict, TypeAdapter

    form = _form(annotation)
    strict = ConfigDict(strict=True)
    return TypeAdapter(ANNOTATED[form, limit] if limit else form, config=strict)


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

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return pydantic's schema of a type whose values meet the condition."""
        from pydantic_core.core_schema import no_info_after_validator_function

        def check(value: Any) -> Any:
            if not self.allows(value):
                raise ValueError(f"it must {self.text}")
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
    """The condition that a value is one of several words."""

    def __init__(self, words: Collection[str]) -> None:
        super().__init__(f"be {' or '.join(words)}", lambda value: value in words)


COUNT = Range(1, 2**31 - 1)
PAIRS = Range(1, 10**7)  # can be generated in minutes and fit into memory
Seed = Annotated[int, Range(0, 2**63 - 1)]  # range of torch's generators
Count = Annotated[int, Range(1)]

FILE_NAME = Limit(
    "begin with a letter or a digit, and hold only these, spaces and _ . + = , -, because it names "
    "files",
    lambda value: not isinstance(value, str) or bool(re.fullmatch(r"\w[\w .+=,-]*", value)),
)
NOT_EMPTY = Limit("not be empty", lambda value: not isinstance(value, Collection) or len(value) > 0)

BETAS = Limit(
    "have 2 items, each at least 0 and below 1, such as [0.9,0.98]",
    lambda value: value is None or (len(value) == 2 and all(0 <= beta < 1 for beta in value)),
)
TIME = Limit(
    "be longer than no time",
    lambda value: (
        value is None or any(x in "123456789" for x in str(value)) and "-" not in str(value)
    ),
)

# Limits of arguments that have no annotation and that torch refuses only in the run, or Lightning
# accepts, although they would train nothing or fail later. The source code of the built-in corpus
# must not change, because it is part of the identity of its text.
POSITIVE = Range(0, above=True)
FOREIGN: dict[str, Limit] = {
    **dict.fromkeys((f"data.n_{x}" for x in ("train", "validation", "test", "test_long")), PAIRS),
    **dict.fromkeys((f"optimizer.{key}" for key in ("lr", "eps", "weight_decay")), Range(0)),
    "optimizer.betas": BETAS,
    "trainer.gradient_clip_val": Range(0),
    "trainer.max_time": TIME,
    "trainer.accumulate_grad_batches": COUNT,
    "trainer.check_val_every_n_epoch": COUNT,
    "trainer.limit_train_batches": POSITIVE,
    "trainer.limit_val_batches": POSITIVE,
    "trainer.val_check_interval": POSITIVE,
}


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
    module, _, name = target.rpartition(".")
    return _types_of(_source_of(module).value(name))


def _types_of(kind: Any) -> Types:
    """Return the types of the named arguments of a class or function that `_Source` has read."""
    source: Any = getattr(kind, "source", None)
    node, types = getattr(kind, "node", None), Types()
    annotated: list[ast.arg | ast.AnnAssign] = []
    if isinstance(node, ast.ClassDef):
        for base in reversed(node.bases):
            types |= _types_of(source.value(ast.unparse(base)))
        if node.decorator_list:  # a dataclass
            annotated += (x for x in node.body if isinstance(x, ast.AnnAssign))
        functions = (x for x in node.body if isinstance(x, ast.FunctionDef))
        node = next((x for x in functions if x.name == "__init__"), None)
    if isinstance(node, ast.FunctionDef):
        types = types if node.args.kwarg else {}
        annotated += (*node.args.args, *node.args.kwonlyargs)
    for each in annotated:
        if each.annotation:
            name = each.arg if isinstance(each, ast.arg) else ast.unparse(each.target)
            types[name] = kind = source.value(ast.unparse(each.annotation))
            bases = getattr(getattr(kind, "node", None), "bases", ())
            # the fields of such a class are separate keys
            types |= _types_of(kind) if "Arguments" in map(ast.unparse, bases) else {}
    return types


class _Source(Types):
    """The names at the top of a module, each with a value that is computed when it is needed.

    A class or function is replaced by an empty class, with its syntax tree as the attribute `node`.
    """

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module, self.meanings = module, dict[str, ast.AST | str]()
        spec = spec_of(module) if module else None
        if spec and str(spec.origin).endswith(".py"):
            package = module if spec.submodule_search_locations else module.rpartition(".")[0]
            for statement in ast.parse(Path(str(spec.origin)).read_bytes()).body:
                self.meanings |= _defined_by(statement, package)

    def value(self, expression: str) -> Any:
        """Return the value of an expression; Any if only an import could compute it."""
        try:
            return eval(expression, {"__builtins__": {}}, self)
        except Exception:
            return Any

    def __missing__(self, name: str) -> Any:
        path = f"{self.module}.{name}".lstrip(".")
        meaning = self.meanings.get(name, path)
        if meaning == path:  # of no statement, or of one that imports a module of this package
            return _source_of(path) if spec_of(path) else getattr(builtins, name)
        if isinstance(meaning, str):
            place, _, last = meaning.rpartition(".")
            names = vars(import_module(place)) if place in LIGHT else _source_of(place)
            return names[last]
        if isinstance(meaning, ast.expr):
            return self.value(ast.unparse(meaning))
        return type(name, (), {"node": meaning, "source": self})

    def __getattr__(self, name: str) -> Any:
        return self[name]


_source_of = cache(_Source)


def _defined_by(statement: ast.stmt, package: str) -> dict[str, ast.AST | str]:
    """Return the meaning of each name that a statement of a module in a package defines: its
    definition, or the dotted name that it imports.
    """
    match statement:
        case ast.ImportFrom():
            path = "." * statement.level + (statement.module or "")
            base = importlib.util.resolve_name(path, package)
            return {name.asname or name.name: f"{base}.{name.name}" for name in statement.names}
        case ast.Import():
            return {name.asname or name.name: name.name for name in statement.names}
        case ast.Assign():
            return {ast.unparse(statement.targets[0]): statement.value}
        case ast.ClassDef() | ast.FunctionDef():
            return {statement.name: statement}
    return {}

"""Check the values that a command sets before the classes of the components are imported.

Their modules import torch, which takes longer than everything else before training. So the types of
a constructor's arguments are read from its source. A type that cannot be read this way counts as
`Any`, and `ablate.config.check` checks the value once the class is imported.
"""

import ast
import builtins
import functools
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ablate.config.check import check_value
from ablate.config.imports import spec_of

LIGHT = ("typing", "collections.abc", "ablate.config.limits")  # modules that are imported
Types = dict[str, Any]  # of arguments, by name
Meaning = ast.AST | str  # the definition of a name, or the dotted name that it imports
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SETTLED = "trainer.precision"  # `settle` replaces short values before they are checked


def check_words(config: DictConfig, words: Sequence[str]) -> None:
    """Raise UserError for the first override whose value has a wrong type or is not allowed."""
    for word in words:
        key = word.lstrip("+").partition("=")[0]
        path, _, name = key.rpartition(".")
        node: Any = None if "/" in key or not path else OmegaConf.select(config, path)
        if OmegaConf.is_dict(node) and {"_target_", name} <= {*node} and key != SETTLED:
            check_value(key, node[name], argument_types(str(node["_target_"])).get(name, Any))


@functools.cache
def argument_types(target: str) -> Types:
    """Return the types of the named arguments of a class or function, as far as its source has
    them.
    """
    module, node = _find(target)
    if isinstance(node, FUNCTIONS):
        return _of_function(node, module)
    if not isinstance(node, ast.ClassDef):
        return {}
    types: Types = {}
    init = next((f for f in node.body if isinstance(f, FUNCTIONS) and f.name == "__init__"), None)
    if init is None or init.args.kwarg:
        for base in reversed(node.bases):
            types |= argument_types(_path(base, module))
    for field in node.body if node.decorator_list else ():  # of a dataclass
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            types[field.target.id] = _type(field.annotation, module)
    return types | (_of_function(init, module) if init else {})


def _of_function(function: FUNCTIONS, module: str) -> Types:
    types: Types = {}
    for argument in (*function.args.args, *function.args.kwonlyargs):
        if argument.annotation is not None:
            path = _path(argument.annotation, module)
            kind = _find(path)[1]
            # the fields of such a class are separate keys of the config
            if isinstance(kind, ast.ClassDef) and "Arguments" in map(ast.unparse, kind.bases):
                types |= argument_types(path)
            types[argument.arg] = _type(argument.annotation, module)
    return types


@functools.cache
def _names(module: str) -> Mapping[str, Meaning]:
    """Return the meaning of each name at the top of a module; {} without source."""
    spec = spec_of(module)
    if spec is None or not str(spec.origin).endswith(".py"):
        return {}
    package = module.rpartition(".")[0] if spec.submodule_search_locations is None else module
    names: dict[str, Meaning] = {}
    for node in ast.parse(Path(str(spec.origin)).read_bytes()).body:
        names |= _bound(node, package)
    return names


def _bound(node: ast.stmt, package: str) -> dict[str, Meaning]:
    """Return the meaning of each name that a statement of a module in a package binds."""
    match node:
        case ast.Import():
            return {alias.asname: alias.name for alias in node.names if alias.asname}
        case ast.ImportFrom():
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            return {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return {node.name: node}
        case ast.Assign():
            return {name.id: node.value for name in node.targets if isinstance(name, ast.Name)}
    return {}


def _find(path: str) -> tuple[str, ast.AST | None]:
    """Return the module in which a dotted name is defined, and its definition; None if its source
    cannot be read.
    """
    module, _, name = path.rpartition(".")
    meaning = _names(module).get(name) if module else None
    return _find(meaning) if isinstance(meaning, str) else (module, meaning)


def _path(node: ast.AST, module: str) -> str:
    """Return the dotted name that an expression such as `pl.Trainer` means in a module; "" for
    another expression.
    """
    if isinstance(node, ast.Attribute):
        return f"{_path(node.value, module)}.{node.attr}"
    if not isinstance(node, ast.Name):
        return ""
    meaning = _names(module).get(node.id)
    return meaning if isinstance(meaning, str) else f"{module}.{node.id}"


def _type(annotation: ast.expr, module: str) -> Any:
    try:
        return _value(annotation, module)
    except Exception:  # an expression that only the import of its modules can compute
        return Any


def _value(node: ast.expr, module: str) -> Any:
    """Return the value of an expression; a class that would have to be imported is replaced by an
    empty class.

    Raises:
        Exception: the expression needs the import of another module.
    """
    used = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    values = {name.id: _meaning(name, module) for name in used}
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        if not _path(call.func, module).startswith(LIGHT):
            raise ValueError(ast.unparse(call))
    code = compile(ast.Expression(node), module, "eval")
    return eval(code, {"__builtins__": {}}, values)


def _meaning(name: ast.Name, module: str) -> Any:
    if name.id not in _names(module):
        return getattr(builtins, name.id)
    path = _path(name, module)
    place, _, last = path.rpartition(".")
    if place in LIGHT:
        return getattr(importlib.import_module(place), last)
    defined, node = _find(path)
    if isinstance(node, ast.ClassDef):
        return type(node.name, (), {})
    if not isinstance(node, ast.expr):
        raise ValueError(path)
    return _value(node, defined)

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

from ablate.config.limits import check_value
from ablate.config.location import spec_of

LIGHT = ("typing", "collections.abc", "ablate.config.limits")  # modules that are imported
Types = dict[str, Any]  # of arguments, by name
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


@functools.cache
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
        elif isinstance(node, ast.ClassDef | FUNCTIONS):
            names[node.name] = node
        elif isinstance(node, ast.Assign):
            names |= {x.id: node.value for x in node.targets if isinstance(x, ast.Name)}
    return names

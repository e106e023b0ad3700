"""Compute hashes of the source of all modules that a run executes.

A module of this package or of the user is identified by its source: a hash of its syntax tree,
without comments, docstrings and layout. The modules that it imports are identified, too, also
imports inside functions, and modules that are named by a text, as in `import_module("mine.part")`.
An installed package is identified by its version. If the package has no version, or was installed
from a folder (`pip install --editable`), it is identified by its source like a module of the user.
Modules of Python itself are left out. No module is imported here, because that would execute it.
"""

import ast
import functools
import hashlib
import importlib.util
import json
import pkgutil
import re
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    distributions,
    packages_distributions,
)
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

from ablate.config.location import spec_of

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PYTHON = Path(sysconfig.get_path("stdlib"))
NAME = re.compile(r"\.*[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")  # a name in Python code, such as mine.Part
OURS = "ablate."
# Observing a run does not change it, and neither does code that only accepts or rejects a config:
# the config is part of the identity anyway. `evaluate` belongs to evaluations.
UNEXECUTED = (
    *(
        f"ablate.{name}"
        for name in ("record", "wandb", "stats", "evidence", "verdict", "errors", "process")
    ),
    *(f"ablate.config.{name}" for name in ("schema", "check", "limits", "settle")),
    *(
        f"ablate.train.{name}"
        for name in ("compatibility", "evaluate", "output", "stored", "tracking")
    ),
)


class Module(NamedTuple):
    """A module, and the file of its source; or an installed package, and its version."""

    name: str
    file: Path | None
    version: str = ""


class Source(NamedTuple):
    """A hash of the source of a module, and the dotted names that the source mentions; or the
    version of an installed package.
    """

    hash: str
    imports: tuple[str, ...] = ()


def source_hashes(names: Iterable[str]) -> dict[str, str]:
    """Return a hash of the source of each module that importing `names` executes (`closure`), by
    name of the module; for an installed package its version.

    Args:
        names: modules, or their classes and functions, as dotted names.
    """
    return {name: source_hash(name) for name in sorted(closure(names))}


def source_hash(name: str) -> str:
    """Return a hash of the source of a module; for an installed package its version.

    The result is "" if there is no such module. A module is read once in each process, so the
    result is the same after a change of the file.
    """
    return _read(name).hash


def has_changed(name: str) -> bool:
    """Return whether the source of a module differs from that when this process first read it."""
    return _read.__wrapped__(name) != _read(name)


def closure(names: Iterable[str]) -> set[str]:
    """Return the modules of this package or of the user, and the installed packages, that importing
    `names` executes.

    Modules that cannot change the results of a run (`UNEXECUTED`) are left out.
    """
    modules: set[str] = set()
    waiting = list(names)
    while waiting:
        module = _locate(waiting.pop())
        if module is None or module.name in modules or module.name.startswith(UNEXECUTED):
            continue
        modules.add(module.name)
        waiting += _read(module.name).imports
        if not module.name.startswith(OURS):
            waiting.append(module.name.rpartition(".")[0])  # its package is executed first
    return modules


def dotted_names(tree: Any) -> Iterator[str]:
    """Yield all texts in a config that may name a class or a function, as `_target_` does."""
    if isinstance(tree, str) and "." in tree and NAME.fullmatch(tree):
        yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from dotted_names(value)


@functools.cache
def _locate(path: str) -> Module | None:
    """Return the module that a dotted name means, or in which it lies; None if there is none.

    The longest module is returned: a.b for a.b.Part. In an installed package, the package is
    returned.
    """
    module, package = None, path.partition(".")[0]
    for name in accumulate(path.split("."), "{}.{}".format):
        spec = spec_of(name)
        if spec is None:
            break
        if not spec.has_location or name == "ablate":  # a namespace, or built into Python
            continue
        file = Path(str(spec.origin))
        folder = _import_folder(name, spec)
        installed = package != "ablate" and _has_installed(folder)
        if installed and (version := _version(package)):
            return Module(package, None, version)
        if not installed and folder.is_relative_to(PYTHON):
            break
        module = Module(name, file)
    return module


def _import_folder(name: str, spec: ModuleSpec) -> Path:
    """Return the folder in `sys.path` in which Python finds a module."""
    folder = Path(str(spec.origin)).parent
    is_package = spec.submodule_search_locations is not None
    for _ in range(name.count(".") + is_package):
        folder = folder.parent
    return folder


@functools.cache
def _has_installed(folder: Path) -> bool:
    """Return whether packages are installed in a folder, as in site-packages."""
    return any(folder.glob("*.dist-info"))


@functools.cache
def _version(package: str) -> str:
    """Return the version of an installed package; "" if it has no version, or if it was installed
    from a folder, whose code may change while the version stays the same.
    """
    installed = _installed(package)
    origins = [json.loads(d.read_text("direct_url.json") or "{}") for d in installed]
    if any("dir_info" in x for x in origins) or not all(d.version for d in installed):
        return ""
    files = [origin.get("archive_info", {}).get("hash", "") for origin in origins]
    commits = [origin.get("vcs_info", {}).get("commit_id", "") for origin in origins]
    parts = zip((d.version for d in installed), files, commits, strict=True)
    return " ".join(filter(None, chain.from_iterable(parts)))


def _installed(package: str) -> list[Distribution]:
    """Return what was installed with a package, often under another name: PIL belongs to Pillow."""
    spec = spec_of(package)
    if spec and spec.has_location:  # otherwise several installed packages share a namespace
        with suppress(PackageNotFoundError):
            return [distribution(package)]
        for other in distributions():  # fast, but some lack this file
            if package in (other.read_text("top_level.txt") or "").split():
                return [other]
    return [distribution(name) for name in packages_distributions().get(package, [])]


@functools.cache
def _read(name: str) -> Source:
    module = _locate(name)
    if module is None or module.file is None:
        return Source(module.version if module else "")
    content = module.file.read_bytes()  # so that the encoding that the module declares is used
    if module.file.suffix != ".py":
        return Source(hashlib.sha256(content).hexdigest()[:16])
    tree = ast.parse(content)
    source = tree_hash(tree)
    is_package = module.file.name == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    imports = [*_imports(tree, package)]
    if name.startswith(OURS):
        return Source(source, tuple(other for other in imports if other.startswith(OURS)))
    return Source(source, (*imports, *_mentioned(tree, package)))


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the dotted names that are imported anywhere in the source of a module in a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            yield base
            for alias in node.names:
                yield from _submodules(base) if alias.name == "*" else [f"{base}.{alias.name}"]


def _submodules(package: str) -> Iterator[str]:
    """Yield the modules in a package, because `from package import *` may import them."""
    spec = spec_of(package)
    folders = (spec and spec.submodule_search_locations) or []
    yield from (f"{package}.{module.name}" for module in pkgutil.iter_modules([*folders]))


def _mentioned(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the dotted names of modules that are not installed and that texts in a source name."""
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and NAME.fullmatch(text):
            for name in {_absolute(text, package), _absolute(f".{text}", package)}:
                if (module := _locate(name)) and module.file:
                    yield name


def _absolute(name: str, package: str) -> str:
    """Return a dotted name without leading dots; "" if it lies outside all packages."""
    with suppress(ImportError):
        return importlib.util.resolve_name(name, package)
    return ""


def tree_hash(tree: ast.Module) -> str:
    """Return a hash of 16 hexadecimal digits that ignores comments, docstrings and layout.

    Docstrings are removed from `tree`. The hash depends on the version of Python, because syntax
    trees differ between versions.
    """
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]

"""List every option of every config group with a one-line summary, without importing its class.

The summary is the comment at the start of the option's YAML file. Without a comment, the summary is
the first paragraph of the docstring of the option's class, or of the module if it has no other
class, with the keys that the option sets.
"""

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import yaml

from ablate.config.location import CONF, PACKAGE, catalogue, catalogue_folders
from ablate.errors import UserError

# comments that are no description: labels of an option and of its values, and other marks
SKIPPED = re.compile(r"@package|label:|label \w+=|purpose:|text:")
HIDDEN = ("_target_", "_partial_", "defaults")


class Option(NamedTuple):
    """An option of a config group (`group=name`) with a summary; `folder` is "" for options of
    ablate.
    """

    group: str
    name: str
    summary: str
    folder: str = ""


def options(folders: Iterable[str] = (), *, experiments: bool = False) -> list[Option]:
    """Return all options, sorted by group; in each group, the options of ablate come first, then
    the options of the catalogue, and then the options in the user's folders.

    Without `experiments`, the experiments of ablate and of the catalogue are left out, because
    there are many.
    """
    without = "." if experiments else "experiment"
    listed = _options(CONF, without)
    if home := catalogue():
        for path in catalogue_folders():
            place = path.relative_to(home.parent).as_posix()
            listed += [o._replace(folder=place) for o in _options(path, without)]
    listed += [
        option._replace(folder=place) for place in folders for option in _options(Path(place))
    ]
    groups = sorted({option.group for option in listed})
    return [option for group in groups for option in listed if option.group == group]


def _options(folder: Path, without: str = ".") -> list[Option]:
    paths = sorted(folder.rglob("*.yaml"), key=lambda path: (path.parent, path.name))
    groups = [path.relative_to(folder).parent.as_posix() for path in paths]
    return [
        Option(group, path.stem, _summary(path))
        for group, path in zip(groups, paths, strict=True)
        if group not in (".", without)
    ]


def _summary(path: Path) -> str:
    """Return a line about an option: a comment in its YAML file, or its class and its keys.

    Raises:
        UserError: the file cannot be read, is not YAML, or is not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
        comments = [line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")]
        if comments := [line for line in comments if not SKIPPED.match(line)]:
            return comments[0].removeprefix("title: ")
        node = yaml.safe_load(text) or {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(node, dict):
        raise UserError(
            f"{path} is not a valid option file: it must be a YAML mapping of keys to values"
        )
    settings = {key: value for key, value in node.items() if key not in HIDDEN}
    keys = ", ".join(
        f"{key} {value}" for key, value in settings.items() if not isinstance(value, dict)
    )
    first = _docstring(str(node.get("_target_", "")))
    return "; ".join(part for part in (first, keys) if part)


def _docstring(target: str) -> str:
    """Return the first paragraph of the docstring of a class of ablate or of the catalogue, without
    its full stop.

    The docstring of a module without other classes stands for the docstring of the class. `target`
    is the full name of the class. If the class is elsewhere, `target` itself is returned.
    """
    package, *names = target.split(".")
    homes = {path.name: path for path in (catalogue(), PACKAGE) if path}
    if package not in homes or not names:
        return target
    module = homes[package].joinpath(*names[:-1])
    source = next(filter(Path.is_file, (module.with_suffix(".py"), module / "__init__.py")), None)
    if source is None:
        return target
    tree = _tree(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    documented = classes.get(names[-1], tree) if len(classes) > 1 else tree
    paragraph = (ast.get_docstring(documented) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).rstrip(".")


@functools.cache
def _tree(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))

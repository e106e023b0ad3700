"""The config: the folders with YAML files (of ablate, of the catalogue of a project, and of the
user), the modules that it names, and its values by dotted key.

A catalogue has experiments, with the options and the code that they need. A project names its
catalogue in pyproject.toml: `catalogue = "experiments"` below `[tool.ablate]`. The nearest such
file counts, from the working folder upwards. `conf` in the catalogue, and `conf` in each of its
folders, have config groups like the folder `conf` of ablate. Their classes are named from the
folder that contains the catalogue: `experiments.dot_products.probe.DotProducts`.

`python -m` searches the current folder before all installed packages. A console script does not
search it at all. Here both search it last, and only in commands that construct components of the
user. So a file torch.py in the current folder does not hide the package torch. `python -P` and
PYTHONSAFEPATH disable the search.
"""

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

PACKAGE = Path(__file__).resolve().parents[1]
# A wheel carries the configs inside the package; a checkout has them beside it.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"


PROJECT = "pyproject.toml"
SMOKE = "smoke"  # the option of `scale` for quick tests
NO_VERDICT = (
    "scale=smoke only tests that everything runs; it gives no verdict. "
    "For a verdict, run the command without it"
)


@cache
def catalogue_root() -> Path | None:
    """Return the folder of the experiment catalogue that the nearest pyproject.toml sets; None if
    no pyproject.toml sets it. The result is cached.

    Raises:
        UserError: a pyproject.toml names a folder that does not exist.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (name := _named_in(folder / PROJECT)) is None:
            continue
        if not (path := (folder / name).resolve()).is_dir():
            raise UserError(f"{folder / PROJECT} names the catalogue {name}, which is no folder")
        return path
    return None


def _named_in(project: Path) -> str | None:
    if not project.is_file():
        return None
    import tomllib

    tool = tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {})
    name = tool.get("ablate", {}).get("catalogue")
    return None if name is None else str(name)


def evidence_folder() -> Path:
    """Return the folder in which a project keeps evidence, relative to the working folder: the
    catalogue, or `experiments` without a catalogue.
    """
    return Path(os.path.relpath(catalogue_root() or "experiments"))


@cache
def catalogue_folders() -> tuple[Path, ...]:
    """Return the config folders of the catalogue; the folder for all experiments comes first."""
    if (folder := catalogue_root()) is None:
        return ()
    places = [folder / "conf", *sorted(folder.glob("*/conf"))]
    return tuple(place for place in places if place.is_dir())


def search_catalogue() -> None:
    """Make this process and its child processes search the folder that contains the catalogue last
    for imports.
    """
    folder = catalogue_root()
    if folder and not sys.flags.safe_path and str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))


def is_importable() -> bool:
    """Return whether Python finds the catalogue: its project is installed, or this process searches
    the folder that contains the catalogue.
    """
    folder = catalogue_root()
    spec = importlib.util.find_spec(folder.name) if folder else None
    places = (spec and spec.submodule_search_locations) or ()
    return any(Path(place).resolve() == folder for place in places)


def option_folders() -> tuple[Path, ...]:
    """Return all config folders: the folder of ablate, and the folders of the catalogue."""
    return (CONF, *catalogue_folders())


def groups() -> list[str]:
    """Return all config groups, such as model/position."""
    files = ((folder, path) for folder in option_folders() for path in folder.glob("**/*.yaml"))
    return sorted({path.parent.relative_to(folder).as_posix() for folder, path in files} - {"."})


def option_files(group: str) -> dict[str, Path]:
    """Return the YAML files of all options of a group, in the order of their names, by name."""
    paths = (path for folder in option_folders() for path in (folder / group).glob("*.yaml"))
    return {path.stem: path for path in sorted(paths, key=lambda path: path.stem)}


def option_file(group: str, name: str) -> Path | None:
    """Return the YAML file of an option of ablate or of the catalogue; None if there is none."""
    paths = (folder / group / f"{name}.yaml" for folder in option_folders())
    return next((path for path in paths if path.is_file()), None)


def leave_current_folder() -> None:
    """Remove the current folder from sys.path, if Python has added it there."""
    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]


def search_current_folder() -> None:
    """Make this process and its child processes search the current folder last for imports."""
    if not sys.flags.safe_path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


@cache
def spec_of(name: str) -> ModuleSpec | None:
    """Return where a module lies, without importing its package; None if there is none."""
    parent, _, last = name.rpartition(".")
    if not parent:
        with suppress(ValueError):  # a module such as __main__
            return importlib.util.find_spec(name)
        return None
    package = spec_of(parent)
    if package is None or package.submodule_search_locations is None:
        return None
    folders = [*package.submodule_search_locations]
    try:
        specs = (finder.find_spec(name, folders) for finder in sys.meta_path)
        return next(filter(None, specs), None)
    except KeyError:  # Python finds a namespace package only after it has imported the parent
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [f"{folder}/{last}" for folder in folders]
        return spec


def leaves(tree: "Mapping[str, object] | DictConfig") -> dict[str, object]:
    """Return every value of a nested mapping by its dotted key; empty mappings are omitted.

    Interpolations are not resolved.
    """
    if isinstance(tree, dict):
        return dict(_leaves(tree, ""))
    from omegaconf import OmegaConf  # slow to import, and readers of evidence do not need it

    return dict(_leaves(OmegaConf.to_container(tree), ""))


def _leaves(node: object, path: str) -> Iterator[tuple[str, object]]:
    if not isinstance(node, dict):
        yield path, node
        return
    for key, value in node.items():
        yield from _leaves(value, f"{path}.{key}" if path else str(key))


def place(factor: str) -> str:
    """Return the config key of a factor: model.norm for model/norm, or the part after an @."""
    return factor.rpartition("@")[2].replace("/", ".")


def is_below(key: str, nodes: Iterable[str]) -> bool:
    """Return whether a dotted config key is one of the nodes, or below one of them."""
    return f"{key}.".startswith(tuple(f"{node}." for node in nodes))

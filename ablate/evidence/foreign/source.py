"""Read a table of runs with the module for its format.

The format follows from the scheme of the source, its file ending, or the files in its folder.
"""

from collections.abc import Iterable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign import delimited, frame, json_lines
from ablate.evidence.foreign.reading import files_below
from ablate.evidence.foreign.table import Table, meant

# file endings, with the name of their reader in this package
BY_ENDING = {
    **dict.fromkeys(delimited.ENDINGS, "delimited"),
    **dict.fromkeys(json_lines.ENDINGS, "json_lines"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
# files that identify a folder of each reader, in the order in which they are tried
IN_FOLDER = {"lightning": "metrics.csv", "tensorboard": "*tfevents*"}
SCHEMES = ("tensorboard", "lightning")


def read(source: Any, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the results of runs in a source as a table.

    Args:
        source: a data frame; the path of a file; a folder of TensorBoard or Lightning; or
            scheme://path with a scheme in `SCHEMES`. ablate.referee.compare adds wandb://.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.

    Raises:
        UserError: the source does not exist or cannot be read.
    """
    if frame.is_frame(source):
        return frame.read(source, wanted, names)
    if isinstance(source, Table):
        return source
    if not isinstance(source, str | PathLike):
        raise UserError(
            f"the runs are of type {type(source).__name__}, but must be a data frame, such as "
            "pandas.DataFrame(runs), or the path of a table or folder"
        )
    scheme, separator, place = str(source).partition("://")
    if separator:
        if scheme not in SCHEMES:
            raise UserError(f"{source}: unknown scheme {scheme}://; {meant(scheme, SCHEMES)}")
        return _read(scheme, place, wanted, names)
    path = Path(source).expanduser()
    if path.is_dir():
        return _read(_reader_of_folder(path), path, wanted, names)
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder{_near(path)}")
    ending = next((end for end in BY_ENDING if path.name.lower().endswith(end)), None)
    if ending is None:
        raise UserError(
            f"{path}: the ending {path.suffix or '(none)'} is unknown; it must be one of "
            f"{', '.join(BY_ENDING)}"
        )
    return _read(BY_ENDING[ending], path, wanted, names)


def _read(reader: str, place: Any, wanted: Iterable[str], names: Iterable[str]) -> Table:
    module = import_module(f"ablate.evidence.foreign.{reader}")
    table: Table = module.read(place, wanted, names)
    return table


def _reader_of_folder(path: Path) -> str:
    for reader, pattern in IN_FOLDER.items():
        if files_below(path, pattern):
            return reader
    raise UserError(
        f"{path} is a folder without runs: give one with event files of TensorBoard, or a "
        "metrics.csv of Lightning"
    )


def _near(path: Path) -> str:
    names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    return f"; {hint}" if names and (hint := meant(path.name, names)).startswith("did") else ""

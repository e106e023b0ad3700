"""Read results from a JSONL file with an object per run, or per run and step.

Nested keys become `a.b`.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.foreign.builder import flat, from_records
from ablate.evidence.foreign.delimited import opened
from ablate.evidence.foreign.reading import named
from ablate.evidence.foreign.table import Table

ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def read(path: Path, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the JSON objects in a file as the rows of a table.

    Args:
        path: the file, which may be compressed with gzip.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.

    Raises:
        UserError: the file cannot be read, or a line is not a JSON object.
    """
    with named(path), opened(path) as file:
        return from_records(str(path), _objects(path, file), wanted, names)


def _objects(path: Path, lines: Iterable[str]) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(
                f"{path}, line {number}: it is not valid JSON ({error}); write one object per line"
            ) from None
        if not isinstance(row, dict):
            raise UserError(
                f"{path}, line {number}: it is {type(row).__name__}, but each line must be an "
                "object"
            )
        yield flat(row)

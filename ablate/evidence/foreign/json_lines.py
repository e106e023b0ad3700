"""Read results from a JSONL file with an object per run, or per run and step.

Nested keys become `a.b`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.foreign.delimited import opened
from ablate.evidence.foreign.reading import named
from ablate.evidence.foreign.table import Table, TableBuilder

ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def read(path: Path, wanted: Iterable[str] = ()) -> Table:
    """Return the JSON objects in a file as the rows of a table.

    Args:
        path: the file, which may be compressed with gzip.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.

    Raises:
        UserError: the file cannot be read, or a line is not a JSON object.
    """
    with named(path), opened(path) as file:
        return from_records(str(path), _objects(path, file), wanted)


def from_records(
    source: str,
    records: Iterable[Mapping[str, object]],
    wanted: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Table:
    """Return a table with a row for each object; a missing key is an empty cell.

    Args:
        source: description of the source, for messages.
        records: one object per row, without nested objects.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        notes: remarks about the source that are shown with a verdict.
    """
    builder = TableBuilder(source, wanted)
    builder.add_records(records)
    return builder.table(notes)


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


def flat(row: Mapping[str, object], before: str = "") -> dict[str, object]:
    """Return nested objects as one object, such as {"a.b": 1} for {"a": {"b": 1}}.

    Args:
        row: the nested objects.
        before: prefix of all keys.
    """
    flattened: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flattened |= flat(value, f"{before}{key}.")
        else:
            flattened[f"{before}{key}"] = value
    return flattened

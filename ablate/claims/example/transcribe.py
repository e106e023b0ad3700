"""Printed numbers, read from the text of a document by line range instead of typed."""

import re
from hashlib import sha256
from pathlib import Path

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
BEFORE = re.compile(r".*(?:=|->|\\approx)")  # what a result stands behind


def rows(lines: list[str], take: str | None) -> list[str]:
    """Return the numbers of each line that has any, as printed and separated by blanks.

    They are those behind the last equals sign or arrow, or those in the groups of `take`.
    Comments do not count.
    """
    found = (_row(line.partition("#")[0], take) for line in lines)
    return [" ".join(row) for row in found if row]


def _row(line: str, take: str | None) -> list[str]:
    if take is None:
        return NUMBER.findall(BEFORE.sub("", line))
    groups = [group for match in re.finditer(take, line) for group in match.groups()]
    return NUMBER.findall(" ".join(groups))


def find_text(folder: Path, digest: str) -> list[str] | None:
    """Return the lines of the text in a folder that has this SHA-256; None where none has."""
    for path in sorted(folder.glob("*.txt")):
        content = path.read_bytes()
        if sha256(content).hexdigest() == digest:
            return content.decode().splitlines()
    return None

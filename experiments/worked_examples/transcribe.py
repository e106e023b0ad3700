"""Read printed numbers from the text of a document by line range."""

import re
from hashlib import sha256
from pathlib import Path

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
BEFORE = re.compile(r".*(?:=|->|\\approx)")  # everything before a result


def rows(lines: list[str], take: str | None) -> list[str]:
    """Return one text for each line that has numbers: the numbers as printed, separated by spaces.

    Text after # is ignored.

    Args:
        lines: lines of the document.
        take: regular expression whose groups contain the numbers. If it is None, the numbers after
            the last =, -> or \\approx of a line are returned.
    """
    number_rows = (_row(line.partition("#")[0], take) for line in lines)
    return [" ".join(row) for row in number_rows if row]


def _row(line: str, take: str | None) -> list[str]:
    if take is None:
        return NUMBER.findall(BEFORE.sub("", line))
    groups = [group for match in re.finditer(take, line) for group in match.groups()]
    return NUMBER.findall(" ".join(groups))


def find_text(folder: Path, digest: str) -> list[str] | None:
    """Return the lines of the text file in a folder whose SHA-256 is `digest`; None if there is no
    such file.
    """
    for path in sorted(folder.glob("*.txt")):
        content = path.read_bytes()
        if sha256(content).hexdigest() == digest:
            return content.decode().splitlines()
    return None

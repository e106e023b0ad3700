"""Make file names and anchors for pages: valid on every system, and unique even if case is
ignored.
"""

import hashlib
import re
from collections.abc import Iterable

FOREIGN = re.compile(r"[^\w.+=-]+", re.ASCII)
LONGEST = 80


def names(texts: Iterable[str]) -> dict[str, str]:
    """Return a file name for each text: the text itself if it is valid, else a simplified form with
    a digest.
    """
    by_text: dict[str, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        name = FOREIGN.sub("-", text).strip("-.")[:LONGEST]
        if name != text or name.casefold() in taken:
            name = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")
        taken.add(name.casefold())
        by_text[text] = name
    return by_text


def anchors(texts: Iterable[str]) -> dict[str, str]:
    """Return an HTML anchor for each text, in lower case, with a number if it would not be
    unique.
    """
    by_text: dict[str, str] = {}
    for number, text in enumerate(dict.fromkeys(texts), 1):
        name = FOREIGN.sub("-", text.lower()).strip("-.") or f"part-{number}"
        by_text[text] = f"{name}-{number}" if name in by_text.values() else name
    return by_text

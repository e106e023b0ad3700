"""Names of pages: plain on every system, and no two alike where upper and lower case are one."""

import hashlib
import re
from collections.abc import Iterable

FOREIGN = re.compile(r"[^\w.+=-]+", re.ASCII)
LONGEST = 80


def names(texts: Iterable[str]) -> dict[str, str]:
    """The name of each text: itself where it can be one, else what is plain of it with a digest."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        name = FOREIGN.sub("-", text).strip("-.")[:LONGEST]
        if name != text or name.casefold() in taken:
            name = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")
        taken.add(name.casefold())
        found[text] = name
    return found


def anchors(texts: Iterable[str]) -> dict[str, str]:
    """The same for places within a page, in small letters: what is plain of a text, numbered."""
    found: dict[str, str] = {}
    for number, text in enumerate(dict.fromkeys(texts), 1):
        name = FOREIGN.sub("-", text.lower()).strip("-.") or f"part-{number}"
        found[text] = f"{name}-{number}" if name in found.values() else name
    return found

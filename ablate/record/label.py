"""The text of a level, and of the levels of an arm: unequal levels never have equal texts.

Plain words stand as they are. A text that could be read as something else, such as "1", "null" or
one with spaces, stands in quotes; a list or a node stands as an override would give it.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from ablate.record.types import Levels

WORD = re.compile(r"[^\s\"'=,:|\[\]{}]+")
DIGITS = 6  # of the digest that stands for what was cut off


def key(levels: Levels) -> str:
    """Return a text that levels share exactly when their values and the types of these are equal.

    Python holds 1, 1.0 and True for equal, which are three configurations.
    """
    return json.dumps(levels, sort_keys=True, default=str)


def value_text(value: Any) -> str:
    """Return a value as an override would give it: 0.5, null, relu, "1", {rate:0.5}."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return value if _is_word(value) else _quoted(value)
    if isinstance(value, dict):
        items = (f"{value_text(name)}:{value_text(item)}" for name, item in value.items())
        return f"{{{','.join(items)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    return str(value)


def _is_word(text: str) -> bool:
    """Whether a text can be taken for nothing but itself."""
    if not WORD.fullmatch(text) or text.lower() in ("null", "true", "false"):
        return False
    try:
        float(text)
    except ValueError:
        return _shows_its_letters(text)
    return False


def _shows_its_letters(text: str) -> bool:
    """Whether no letter is invisible, or made of several."""
    return text.isprintable() and unicodedata.is_normalized("NFC", text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not _shows_its_letters(text))


def short_names(factors: Iterable[str]) -> dict[str, str]:
    """Return the last part of the name of each factor, with as many more as tell it from others.

    The name of a group at one place, model/norm@model.encoder.norm, has that place: encoder.norm.
    """
    parts = {factor: re.split("[./]", place(factor)) for factor in factors}
    return {factor: _short_name(factor, parts) for factor in parts}


def _short_name(factor: str, parts: dict[str, list[str]]) -> str:
    own = parts[factor]
    others = [names for other, names in parts.items() if other != factor]
    for count in range(1 + ("@" in factor), len(own)):
        if not any(names[-count:] == own[-count:] for names in others):
            return ".".join(own[-count:])
    return ".".join(own)


def place(factor: str) -> str:
    """Return the config key of a factor: model.norm of model/norm, else what follows its @."""
    return factor.rpartition("@")[2].replace("/", ".")


def cut(text: str, longest: int) -> str:
    """Return a text of at most so many characters; one that is cut ends with a digest of it all."""
    return text if len(text) <= longest else f"{text[: longest - DIGITS - 1]}~{digest(text)}"


def digest(text: str) -> str:
    """Return a few hexadecimal digits that tell a text from others."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def say(named: Levels) -> str:
    """Return the label of an arm: options by their name alone, values with the name of their key.

    Of the same factors, unequal levels have unequal labels.
    """
    return " ".join(words_of(named, "=")) or "single"


def words_of(levels: Levels, between: str) -> Sequence[str]:
    """Return a text per factor: an option by its name alone, another value with its key."""
    names = short_names(levels)
    return [
        value_text(value)
        if isinstance(value, str) and "@" not in factor
        else f"{names[factor]}{between}{value_text(value)}"
        for factor, value in levels.items()
    ]

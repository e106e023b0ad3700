"""Write levels and arms as text, such that different levels have different texts.

Plain words are written unchanged. A text that could be mistaken for another type, such as "1" or
"null", or that contains spaces, is quoted. A list or a node is written like an override.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from ablate.config.study import Levels

WORD = re.compile(r"[^\s\"'=,:|\[\]{}]+")
DIGITS = 6  # number of digits of the digest that replaces the cut part


def key(levels: Levels) -> str:
    """Return a text that is equal for two sets of levels exactly if their values and types are
    equal.

    Python considers 1, 1.0 and True equal, but they are three configs.
    """
    return json.dumps(levels, sort_keys=True, default=str)


def run_key(levels: Levels, seed: int) -> str:
    """Return a text that identifies a run of a study by the levels of its arm and by its seed.

    By this text, the same run is recognised in several sweeps of the study.
    """
    return json.dumps([key(levels), seed])


def value_text(value: Any) -> str:
    """Return a value as it is written in an override: 0.5, null, relu, "1", {rate:0.5}."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return value if _is_word(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        items = (f"{value_text(name)}:{value_text(item)}" for name, item in value.items())
        return f"{{{','.join(items)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    return str(value)


def _is_word(text: str) -> bool:
    """Return whether a text cannot be mistaken for a number or another type."""
    if not WORD.fullmatch(text) or text.lower() in ("null", "true", "false"):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def short_names(factors: Iterable[str]) -> dict[str, str]:
    """Return, by factor, the shortest suffix of its name that distinguishes it from other factors.

    If a config group is placed at another key, as in model/norm@model.encoder.norm, the suffix is
    taken from this key: encoder.norm.
    """
    parts = {factor: re.split("[./]", place(factor)) for factor in factors}
    return {factor: _short_name(factor, parts) for factor in parts}


def _short_name(factor: str, parts: dict[str, list[str]]) -> str:
    parts_of_factor = parts[factor]
    other_factors = [names for other, names in parts.items() if other != factor]
    for count in range(1 + ("@" in factor), len(parts_of_factor)):
        if not any(names[-count:] == parts_of_factor[-count:] for names in other_factors):
            return ".".join(parts_of_factor[-count:])
    return ".".join(parts_of_factor)


def place(factor: str) -> str:
    """Return the config key of a factor: model.norm for model/norm, or the part after an @."""
    return factor.rpartition("@")[2].replace("/", ".")


def cut(text: str, longest: int) -> str:
    """Return a text, cut to at most `longest` characters.

    A cut text ends with a digest of the whole text.
    """
    return text if len(text) <= longest else f"{text[: longest - DIGITS - 1]}~{digest(text)}"


def digest(text: str) -> str:
    """Return a digest of a text with 6 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def say(named: Levels) -> str:
    """Return the label of an arm, such as "pre_ln n_heads=8": options by their name, other values
    with their key; "single" without levels.

    Different levels of the same factors have different labels.
    """
    names = short_names(named)
    words = [
        value_text(value)
        if isinstance(value, str) and "@" not in factor
        else f"{names[factor]}={value_text(value)}"
        for factor, value in named.items()
    ]
    return " ".join(words) or "single"

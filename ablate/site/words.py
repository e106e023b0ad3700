"""Statistical words that explain themselves: links to their meaning, which a script shows."""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape


@dataclass(frozen=True)
class Word:
    """A word with its meaning; `anchor` is its place on the page that lists all."""

    anchor: str
    spellings: tuple[str, ...]
    meaning: str


@cache
def read_words() -> list[Word]:
    """Return all words in the order of their file."""
    text = (files("ablate.site") / "words.yaml").read_text(encoding="utf-8")
    listed = ((key.split("|"), meaning) for key, meaning in yaml.safe_load(text).items())
    return [Word(re.sub(r"\W+", "-", one[0].lower()), tuple(one), says) for one, says in listed]


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, Word]]:
    """A pattern for every spelling, the longest first, and the word of each."""
    known = {spelling: word for word in read_words() for spelling in word.spellings}
    longest = sorted(known, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})\b"), known


@pass_context
def terms(context: Context, text: str) -> Markup:
    """Return a text as HTML in which each word links to its meaning where it first occurs."""
    pattern, known = _pattern()
    seen: set[str] = set()

    def linked(match: re.Match[str]) -> str:
        word = known[match[1]]
        if word.anchor in seen:
            return match[0]
        seen.add(word.anchor)
        page = f"{context['root']}how-to-read.html#{word.anchor}"
        return f'<a class="term" href="{page}">{match[0]}</a>'

    return Markup(pattern.sub(linked, str(escape(text))))


def script() -> str:
    """Return the meanings as a script, by anchor."""
    meanings = {word.anchor: word.meaning for word in read_words()}
    return f"window.ablateWords = {json.dumps(meanings, separators=(',', ':'))};\n"

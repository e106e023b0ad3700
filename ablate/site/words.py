"""Link statistical terms in texts to their explanations, which a script shows."""

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
    """A statistical term with its explanation; `anchor` is its anchor on the page that lists all
    terms.
    """

    anchor: str
    spellings: tuple[str, ...]
    meaning: str


@cache
def read_words() -> list[Word]:
    """Return all statistical terms in the order of their file."""
    text = (files("ablate.site") / "words.yaml").read_text(encoding="utf-8")
    listed = ((key.split("|"), meaning) for key, meaning in yaml.safe_load(text).items())
    return [
        Word(re.sub(r"\W+", "-", spellings[0].lower()), tuple(spellings), says)
        for spellings, says in listed
    ]


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, Word]]:
    """Return a pattern that matches every spelling of a term, and the term of each spelling.

    Longer spellings are matched first.
    """
    by_spelling = {spelling: word for word in read_words() for spelling in word.spellings}
    longest = sorted(by_spelling, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})\b"), by_spelling


@pass_context
def terms(context: Context, text: str) -> Markup:
    """Return a text as HTML in which the first occurrence of each statistical term links to its
    explanation.
    """
    pattern, by_spelling = _pattern()
    seen: set[str] = set()

    def linked(match: re.Match[str]) -> str:
        word = by_spelling[match[1]]
        if word.anchor in seen:
            return match[0]
        seen.add(word.anchor)
        page = f"{context['root']}how-to-read.html#{word.anchor}"
        return f'<a class="term" href="{page}">{match[0]}</a>'

    return Markup(pattern.sub(linked, str(escape(text))))


def script() -> str:
    """Return the explanations of all terms, by anchor, as JavaScript."""
    meanings = {word.anchor: word.meaning for word in read_words()}
    return f"window.ablateWords = {json.dumps(meanings, separators=(',', ':'))};\n"

"""Prepare the page for beginners: a verdict explained step by step, how to ask a question, and the
statistical terms, to whose explanations the texts of all pages link.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.metric import metric_of
from ablate.verdict.types import SUPPORTED
from experiments.site.front import sure
from experiments.site.model import Site
from experiments.site.view import View, views
from experiments.site.wording import is_single

MEANINGS = {
    "supported": "The experiment shows what the sentence says.",
    "refuted": "The experiment shows that the sentence is wrong.",
    MIXED: "The sentence holds in some settings and is wrong in others.",
    UNDECIDED: (
        "The experiment neither supports nor refutes the sentence. More or longer runs could do so."
    ),
    NOT_TESTABLE: "The sentence is a definition, a convention, history or an opinion.",
    NOT_TESTED: "No experiment has tested the sentence yet.",
}


def whole(site: Site) -> dict[str, object]:
    """Return the variables of the template for the page for beginners, which explains a verdict
    step by step.
    """
    view = example(site)
    return {
        "view": view,
        "metric": metric_of(view.finding.answer["metric"]).name if view else "",
        "meanings": MEANINGS,
        "words": read_words(),
        **sure(site),
        "question": _read("question.yaml"),
    }


def example(site: Site) -> View | None:
    """Return the verdict that the page for beginners explains; None if there is no such verdict.

    It compares two arms, decides its claim alone, and stays the same with a correction for all
    claims of the site, so the page of its claim gives the same answer. It has the most seeds.
    """
    candidates = [
        view
        for entry in site.entries
        if entry.verdict == SUPPORTED and is_single(entry.headline)
        for view in views(entry, site)
        if view.decides
        and view.is_drawable
        and view.finding.answer["kind"] == "superiority"
        and view.finding.answer["margin"]
        and not view.finding.answer["minus"]
        and not view.changes_by_correction
    ]
    return max(candidates, key=lambda view: view.finding.answer["pairs"], default=None)


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
    words = yaml.safe_load(_read("words.yaml"))
    listed = ((key.split("|"), meaning) for key, meaning in words.items())
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
        meaning = escape(word.meaning)
        return f'<a class="term" href="{page}" title="{meaning}">{match[0]}</a>'

    return Markup(pattern.sub(linked, str(escape(text))))


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")

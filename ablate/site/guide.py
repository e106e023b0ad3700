"""Prepare the page for beginners: a verdict explained step by step, how to ask a question, and the
statistical terms, to whose explanations the texts of all pages link.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from ablate.config.labels import KEYS
from ablate.config.smoke import SMOKE
from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.ledger.places import COMMITTED
from ablate.metric.table import metric_of
from ablate.site.front import sure
from ablate.site.model import Site
from ablate.site.view import View, drawn, views

FIRST = ("preln_vs_postln", "preln_solves_gradient_problem")  # the preferred experiment and claim

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
    view = _example(site)
    return {
        "view": view,
        "forest": next(iter(drawn([view] if view else [])), None),
        "tuned": KEYS.get(view.source.tuned, "").replace(" {}", "") if view else "",
        "metric": metric_of(view.claim["metric"]).name if view and view.claim else "",
        "meanings": MEANINGS,
        "words": read_words(),
        **sure(site),
        "question": _read("question.yaml"),
    }


def _example(site: Site) -> View | None:
    """Return a verdict that the page for beginners explains: on two arms over several seeds, with
    results in the repository. The result is None if there is no such verdict.
    """
    candidates = [
        view
        for entry in site.entries
        for view in views(entry, site)
        if view.finding.kind == "superiority"
        and view.finding.scale != SMOKE
        and _has_all_parts(view)
        and view.finding.origin == COMMITTED
    ]
    first = [view for view in candidates if (view.finding.experiment, view.finding.claim) == FIRST]
    return next(iter([*first, *candidates]), None)


def _has_all_parts(view: View) -> bool:
    """Return whether a verdict has everything that the page for beginners explains step by step: an
    interval from more than two pairs of runs, a margin, and a drawn effect that is no difference of
    differences.
    """
    claim = view.claim
    return bool(
        claim and view.row and claim["pairs"] > 2 and claim["margin"] and not claim["minus"]
    )


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
        return f'<a class="term" href="{page}">{match[0]}</a>'

    return Markup(pattern.sub(linked, str(escape(text))))


def script() -> str:
    """Return the explanations of all terms, by anchor, as JavaScript."""
    meanings = {word.anchor: word.meaning for word in read_words()}
    return f"window.ablateWords = {json.dumps(meanings, separators=(',', ':'))};\n"


def _read(name: str) -> str:
    return (files("ablate.site") / name).read_text(encoding="utf-8")

"""Sentences of the built-in corpus with what their trees know: who belongs to whom.

The sentences are drawn anew, and belong to validation or test by the corpus's own rule, so that no
model has trained on them. Every word of a tree's dictionary gets a number in place of its forms;
where the numbers come out in either language says where each word of the meaning stands.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from random import Random
from typing import Any, NamedTuple

from ablate.data.toy import mirel, sodak
from ablate.data.toy.corpus import USUAL
from ablate.data.toy.corpus import _home as home  # renamed, every run on this corpus would be new
from ablate.data.toy.lexicon import Word
from ablate.data.toy.speaker import Speaker
from ablate.data.toy.text import text
from ablate.data.toy.tree import Pronoun, Referent, Sentence, clauses, own_phrases

LONGEST = 14  # words, as the corpus has them
Pairs = list[tuple[int, int]]
KINDS = ("verb_subject", "pronoun", "ambiguous_noun")


class Gold(NamedTuple):
    """A sentence pair in words.

    `links` are pairs of source words by kind: a verb and the noun or pronoun that is its subject, a
    pronoun and the noun that it stands for, an ambiguous noun and the verb that decides it.
    `aligned` are a target word and a source word of one entry of the dictionary.
    """

    src: list[str]
    tgt: list[str]
    links: dict[str, Pairs]
    aligned: Pairs


@cache
def sentences(split: str, count: int) -> tuple[Gold, ...]:
    """Return different sentences that may serve for this split: "validation" or "test"."""
    speaker = Speaker(USUAL, Random(f"gold {split}"))
    found: dict[str, Gold] = {}
    while len(found) < count:
        meaning = speaker.sentence()
        line = text(mirel.sentence(meaning))
        if home(line) != split or line in found:
            continue
        one = gold(meaning)
        if max(len(one.src), len(one.tgt)) <= LONGEST:
            found[line] = one
    return tuple(found.values())


def gold(meaning: Sentence) -> Gold:
    """Return the sentence pair of a meaning with its links."""
    numbered = _numbered(meaning, {}, iter(range(1000)))
    src, tgt = (text(side.sentence(meaning)).split() for side in (mirel, sodak))
    sources = _places(mirel.sentence(numbered))
    targets = _places(sodak.sentence(numbered))
    aligned = [(targets[tag], sources[tag]) for tag in sources if tag in targets]
    return Gold(src, tgt, _links(numbered, sources, src), sorted(aligned))


def _numbered(node: Any, known: dict[int, Referent], numbers: Iterator[int]) -> Any:
    """Return the tree with a number for the forms of every word; what is one referent stays one."""
    if isinstance(node, Referent) and id(node) in known:
        return known[id(node)]
    if isinstance(node, Word):
        number = str(next(numbers))
        return replace(node, mirel=number, sodak=number)
    if isinstance(node, tuple):
        return tuple(_numbered(part, known, numbers) for part in node)
    if not is_dataclass(node):
        return node
    parts = {f.name: _numbered(getattr(node, f.name), known, numbers) for f in fields(node)}
    found: Any = replace(node, **parts)  # type: ignore[type-var]
    if isinstance(found, Referent):
        known[id(node)] = found
    return found


def _places(tokens: list[Any]) -> dict[str, int]:
    """Return where every number stands; one Sodak word may hold two."""
    return {tag: i for i, token in enumerate(tokens) for tag in re.findall(r"\d+", token.form)}


def _links(meaning: Sentence, places: dict[str, int], src: list[str]) -> dict[str, Pairs]:
    links: dict[str, Pairs] = {kind: [] for kind in KINDS}
    pronouns = (i for i, word in enumerate(src) if word == mirel.PRONOUN.form)
    for clause in clauses(meaning):
        verb, subject = places[clause.verb.mirel], places[clause.subject.referent.noun.mirel]
        if isinstance(clause.subject, Pronoun):
            pronoun = next(pronouns)
            links["pronoun"].append((pronoun, subject))
            subject = pronoun
        links["verb_subject"].append((verb, subject))
        nouns = [phrase.referent.noun for phrase in own_phrases(clause)]
        links["ambiguous_noun"] += [(places[n.mirel], verb) for n in nouns if n.domain is not None]
    return links

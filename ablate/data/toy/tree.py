"""What a sentence means: a tree that knows nothing of either language's word order or endings.

sentence    clause, and clause, ...
clause      verb, subject, and what the verb's valency asks for
relative    a clause with a gap where its head noun would stand
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ablate.data.toy.lexicon import Noun, Verb, Word


@dataclass(frozen=True, slots=True)
class Referent:
    """What is spoken of; all words that agree with it take their gender and number from here."""

    noun: Noun
    plural: bool


@dataclass(frozen=True, slots=True)
class Pronoun:
    """Stands for the subject of the clause before, or of the clause around."""

    referent: Referent


@dataclass(frozen=True, slots=True)
class Gap:
    """The place of the head noun in its relative clause; it is silent in both languages."""

    referent: Referent


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what belongs to it; `material` makes a compound of it: stone + bridge."""

    referent: Referent
    definite: bool
    adjective: Word | None = None
    material: Noun | None = None
    place: "Place | None" = None
    relative: "Clause | None" = None


@dataclass(frozen=True, slots=True)
class Place:
    """A prepositional phrase."""

    preposition: Word
    ground: NounPhrase


@dataclass(frozen=True, slots=True)
class Clause:
    """`content` is the clause in "say that ..."; `fronted` puts the adverb first in Mirel."""

    verb: Verb
    subject: NounPhrase | Pronoun | Gap
    object: NounPhrase | Gap | None = None
    recipient: NounPhrase | None = None
    content: "Clause | None" = None
    adverb: Word | None = None
    fronted: bool = False


Sentence = tuple[Clause, ...]


def clauses(meaning: Sentence) -> Iterator[Clause]:
    """Yield every clause of the sentence, relative ones and the content of others too."""
    for clause in meaning:
        yield clause
        if clause.content:
            yield from clauses((clause.content,))
        for phrase in own_phrases(clause):
            if phrase.relative:
                yield from clauses((phrase.relative,))


def own_phrases(clause: Clause) -> Iterator[NounPhrase]:
    """Yield the noun phrases of a clause, those of places too, but none of its inner clauses."""
    for phrase in (clause.subject, clause.object, clause.recipient):
        while isinstance(phrase, NounPhrase):
            yield phrase
            phrase = phrase.place.ground if phrase.place else None

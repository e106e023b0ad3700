"""Represent the meaning of a sentence as a tree, without the word order and endings of a language.

sentence    clause, and clause, ...
clause      verb, subject, and what the verb's valency asks for
relative    a clause with a gap where its head noun would stand
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TypeVar

from ablate.data.toy.lexicon import (
    ADJECTIVES,
    ADVERBS,
    MATERIALS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Domain,
    Noun,
    Valency,
    Verb,
    Word,
)


@dataclass(frozen=True, slots=True)
class Referent:
    """The person or thing that a phrase names; it sets gender and number of words that agree."""

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


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Habits:
    """How often a speaker does what: probabilities, and the number of clauses within clauses."""

    depth: int = 2
    second_clause: float = 0.25  # "... and ..."
    pronoun: float = 0.7  # where there is something to refer to
    content: float = 0.15  # "say that ..."
    recipient: float = 0.15
    intransitive: float = 0.25
    relative: float = 0.2
    subject_gap: float = 0.5  # of the relative clauses
    place: float = 0.15
    adverb: float = 0.3
    fronted: float = 0.5  # of the adverbs
    adjective: float = 0.3
    compound: float = 0.12
    plural: float = 0.35
    definite: float = 0.6


class Speaker:
    """Draws one meaning after another from a stream of random numbers."""

    def __init__(self, habits: Habits, rng: Random) -> None:
        self.habits, self.rng = habits, rng

    def sentence(self) -> Sentence:
        """Return a main clause, at times with a second one."""
        first = self.main_clause()
        if not self.chance(self.habits.second_clause):
            return (first,)
        return first, self.main_clause(first.subject.referent)

    def main_clause(self, antecedent: Referent | None = None) -> Clause:
        """Return a clause, at times with an adverb, which only main clauses have."""
        clause = self.clause(self.habits.depth, antecedent)
        if not self.chance(self.habits.adverb):
            return clause
        fronted = self.chance(self.habits.fronted)
        return replace(clause, adverb=self.pick(ADVERBS), fronted=fronted)

    def clause(self, depth: int, antecedent: Referent | None = None) -> Clause:
        """Return a clause; its subject may be a pronoun if there is an antecedent."""
        pronoun = None
        if antecedent and self.chance(self.habits.pronoun):
            pronoun = Pronoun(antecedent)
        verb, subject = self.verb_and_subject(self.valency(depth), depth, pronoun)
        if verb.valency is Valency.NOTHING:
            return Clause(verb, subject)
        if verb.valency is Valency.CLAUSE:
            return Clause(verb, subject, content=self.clause(depth - 1, subject.referent))
        recipient = None
        if verb.valency is Valency.OBJECT_AND_RECIPIENT:
            recipient = self.noun_phrase(verb.domain, depth)
        return Clause(verb, subject, self.noun_phrase(verb.domain, depth), recipient)

    def relative(self, head: Referent, depth: int) -> Clause:
        """Return a relative clause: "which sleeps", "which sees a cat" or "which a cat sees"."""
        if not self.chance(self.habits.subject_gap):
            verb, subject = self.verb_and_subject(Valency.OBJECT, depth)
            return Clause(verb, subject, Gap(head))
        valency = Valency.NOTHING if self.chance(self.habits.intransitive) else Valency.OBJECT
        verb, gap = self.verb_and_subject(valency, depth, Gap(head))
        object_ = None if valency is Valency.NOTHING else self.noun_phrase(verb.domain, depth)
        return Clause(verb, gap, object_)

    def verb_and_subject(
        self, valency: Valency, depth: int, given: Pronoun | Gap | None = None
    ) -> tuple[Verb, NounPhrase | Pronoun | Gap]:
        """Return two that fit each other: the subject that is given, or a new one."""
        if given:
            return self.pick(verbs(valency, given.referent.noun.animate)), given
        verb = self.pick(verbs(valency))
        return verb, self.noun_phrase(verb.domain, depth, verb.animate_subject)

    def noun_phrase(self, domain: Domain, depth: int, animate: bool | None = None) -> NounPhrase:
        """Return a noun phrase that fits a verb.

        It has a place or a relative clause, but not both: "the dog near the tower which ..." could
        be meant in two ways.
        """
        habits = self.habits
        noun = self.pick(nouns(domain, animate))
        referent = Referent(noun, self.chance(habits.plural))
        compound = noun not in MATERIALS and self.chance(habits.compound)
        place = relative = None
        if depth and self.chance(habits.relative):
            relative = self.relative(referent, depth - 1)
        elif self.chance(habits.place):
            place = Place(self.pick(PREPOSITIONS), self.noun_phrase(domain, 0))
        return NounPhrase(
            referent,
            definite=self.chance(habits.definite),
            adjective=self.pick(ADJECTIVES) if self.chance(habits.adjective) else None,
            material=self.pick(MATERIALS) if compound else None,
            place=place,
            relative=relative,
        )

    def valency(self, depth: int) -> Valency:
        """Return what the next verb will need; only where depth is left may it be a clause."""
        habits, draw = self.habits, self.rng.random()
        if draw < habits.intransitive:
            return Valency.NOTHING
        if draw < habits.intransitive + habits.recipient:
            return Valency.OBJECT_AND_RECIPIENT
        if depth and draw > 1 - habits.content:
            return Valency.CLAUSE
        return Valency.OBJECT

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.rng.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return any of the items, all equally likely."""
        return items[int(self.rng.random() * len(items))]


@cache
def verbs(valency: Valency, animate: bool | None = None) -> tuple[Verb, ...]:
    """Return the verbs that may have such a subject (None: one still to be chosen)."""
    return tuple(
        verb
        for verb in VERBS
        if verb.valency is valency and (animate is None or verb.animate_subject in (None, animate))
    )


@cache
def nouns(domain: Domain, animate: bool | None) -> tuple[Noun, ...]:
    """Return the nouns that may stand beside such a verb (animate None: both kinds)."""
    return tuple(
        noun
        for noun in NOUNS
        if noun.domain in (None, domain) and (animate is None or noun.animate is animate)
    )

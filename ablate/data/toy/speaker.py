"""Draws meanings at random."""

from collections.abc import Sequence
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
)
from ablate.data.toy.tree import Clause, Gap, NounPhrase, Place, Pronoun, Referent, Sentence

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

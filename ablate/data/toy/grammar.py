"""Represent the meaning of a sentence as a tree, without the word order and endings of a language,
and put it into the words of two languages, Mirel and Sodak.

sentence    clause, and clause, ...
clause      verb, subject, and what the verb's valency asks for
relative    a clause with a gap where its head noun would stand
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import ClassVar, TypeVar

from ablate.data.toy.lexicon import (
    ADJECTIVES,
    ADVERBS,
    MATERIALS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Domain,
    Gender,
    Noun,
    Token,
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


class Language(ABC):
    """A language: it puts meanings into words."""

    AND: ClassVar[Token]

    def sentence(self, meaning: Sentence) -> list[Token]:
        """Return the clauses, joined by "and"."""
        first, *further = map(self.clause, meaning)
        return first + [token for clause in further for token in (self.AND, *clause)]

    @abstractmethod
    def clause(self, meaning: Clause) -> list[Token]:
        """Return the words of a clause."""


class Mirel(Language):
    """Mirel, the source language.

    Verb second, adjectives before the noun, no gender, no case, no agreement: only the order of the
    words tells who does what to whom.
    """

    THE, A, PRONOUN = Token("sa", "the"), Token("mo", "a"), Token("li", "it")
    AND, THAT = Token("vo", "and"), Token("pu", "that")
    WHICH, TO = Token("ke", "which"), Token("ta", "to")
    PLURAL = "s"

    def clause(self, meaning: Clause) -> list[Token]:
        """Return the clause with its verb second: after the adverb if that comes first."""
        subject, verb = self.nominal(meaning.subject), self.word(meaning.verb)
        adverb = self.optional(meaning.adverb)
        tokens = [*adverb, verb, *subject] if meaning.fronted else [*subject, verb, *adverb]
        if meaning.object:
            tokens += self.nominal(meaning.object)
        if meaning.recipient:
            tokens += [self.TO, *self.nominal(meaning.recipient)]
        if meaning.content:
            tokens += [self.THAT, *self.clause(meaning.content)]
        return tokens

    def nominal(self, meaning: NounPhrase | Pronoun | Gap) -> list[Token]:
        """Return article, adjective, noun, material, place and relative clause, in this order."""
        if isinstance(meaning, Gap):
            return []
        if isinstance(meaning, Pronoun):
            return [self.PRONOUN]
        article = self.THE if meaning.definite else self.A
        tokens = [article, *self.optional(meaning.adjective), self.noun(meaning.referent)]
        tokens += self.optional(meaning.material)
        if meaning.place:
            tokens += [self.word(meaning.place.preposition), *self.nominal(meaning.place.ground)]
        if meaning.relative:
            tokens += [self.WHICH, *self.clause(meaning.relative)]
        return tokens

    def noun(self, referent: Referent) -> Token:
        """Return the noun, the only word of the language that is inflected."""
        form, gloss = self.word(referent.noun)
        return Token(form + self.PLURAL, gloss + "-PL") if referent.plural else Token(form, gloss)

    def word(self, entry: Word) -> Token:
        """Return the uninflected word."""
        return Token(entry.mirel, entry.gloss)

    def optional(self, entry: Word | None) -> list[Token]:
        """Return the uninflected word, if there is one."""
        return [self.word(entry)] if entry else []


class Sodak(Language):
    """Sodak, the target language.

    The verb closes every clause, adjectives follow the noun. Articles, adjectives and pronouns
    agree with their noun in gender, number and case, verbs with their subject in gender and number.
    """

    # stems that take the endings below
    THE, A = Token("d", "the"), Token("j", "a")
    WHICH, PRONOUN = Token("w", "which"), Token("h", "it")
    AND, THAT = Token("esh", "and"), Token("ox", "that")

    # an ending is a vowel for gender and number, then a consonant for the case or for the verb
    VOWEL: ClassVar = {Gender.MASCULINE: "o", Gender.FEMININE: "a", Gender.NEUTER: "e"}
    PLURAL_VOWEL = "i"
    CASE: ClassVar = {"NOM": "r", "ACC": "n", "DAT": "m"}
    VERB = "t"
    PLURAL, LINK = "ur", "s"  # of nouns, and between the two nouns of a compound

    def clause(self, meaning: Clause) -> list[Token]:
        """Return subject, adverb, recipient, object, inner clause, verb, in this order."""
        tokens = self.nominal(meaning.subject, "NOM")
        if meaning.adverb:
            tokens.append(self.word(meaning.adverb))
        if meaning.recipient:
            tokens += self.nominal(meaning.recipient, "DAT")
        if meaning.object:
            tokens += self.nominal(meaning.object, "ACC")
        if meaning.content:
            tokens += [*self.clause(meaning.content), self.THAT]
        return [*tokens, self.verb(meaning)]

    def nominal(self, meaning: NounPhrase | Pronoun | Gap, case: str) -> list[Token]:
        """Return article, noun, adjective, place and relative clause, in this order."""
        referent = meaning.referent
        if isinstance(meaning, Gap):
            return []
        if isinstance(meaning, Pronoun):
            return [self.agree(self.PRONOUN, referent, case)]
        article = self.THE if meaning.definite else self.A
        tokens = [self.agree(article, referent, case), self.noun(meaning)]
        if meaning.adjective:
            tokens.append(self.agree(self.word(meaning.adjective), referent, case))
        if place := meaning.place:
            tokens += [*self.nominal(place.ground, "DAT"), self.word(place.preposition)]
        if meaning.relative:
            gap = "NOM" if isinstance(meaning.relative.subject, Gap) else "ACC"
            tokens += [self.agree(self.WHICH, referent, gap), *self.clause(meaning.relative)]
        return tokens

    def noun(self, meaning: NounPhrase) -> Token:
        """Return the noun, glued to its material, with the plural ending."""
        form, gloss = self.word(meaning.referent.noun)
        if material := meaning.material:
            form, gloss = material.sodak + self.LINK + form, f"{material.gloss}+{gloss}"
        plural = meaning.referent.plural
        return Token(form + self.PLURAL, gloss + "-PL") if plural else Token(form, gloss)

    def verb(self, meaning: Clause) -> Token:
        """Return the verb, agreeing with its subject."""
        vowel, features = self.agreement(meaning.subject.referent)
        return Token(meaning.verb.sodak + vowel + self.VERB, f"{meaning.verb.gloss}.{features}")

    def agree(self, stem: Token, referent: Referent, case: str) -> Token:
        """Return an article, adjective or pronoun with the ending that the referent asks for."""
        vowel, features = self.agreement(referent)
        return Token(stem.form + vowel + self.CASE[case], f"{stem.gloss}.{case}.{features}")

    def agreement(self, referent: Referent) -> tuple[str, str]:
        """Return the vowel and the gloss of the referent's number and, in the singular, gender."""
        gender = referent.noun.gender
        return (self.PLURAL_VOWEL, "PL") if referent.plural else (self.VOWEL[gender], gender)

    def word(self, entry: Word) -> Token:
        """Return the uninflected word or stem."""
        return Token(entry.sodak, entry.gloss)


MIREL, SODAK = Mirel(), Sodak()

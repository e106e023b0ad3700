"""Mirel, the source language: a meaning put into words.

Verb second, adjectives before the noun, no gender, no case, no agreement: only the order of the
words tells who does what to whom.
"""

from ablate.data.toy.lexicon import Token, Word
from ablate.data.toy.meaning import Clause, Gap, NounPhrase, Pronoun, Sentence

THE, A = Token("sa", "the"), Token("mo", "a")
PRONOUN = Token("li", "it")
AND, THAT, WHICH, TO = (
    Token("vo", "and"),
    Token("pu", "that"),
    Token("ke", "which"),
    Token("ta", "to"),
)
PLURAL = "s"


def sentence(meaning: Sentence) -> list[Token]:
    """Return the clauses, joined by "and"."""
    first, *further = meaning
    return clause(first) + [token for each in further for token in (AND, *clause(each))]


def clause(meaning: Clause) -> list[Token]:
    """Return the clause with its verb second: after the adverb if that comes first."""
    subject, verb, adverb = nominal(meaning.subject), word(meaning.verb), optional(meaning.adverb)
    order = [*adverb, verb, *subject] if meaning.fronted else [*subject, verb, *adverb]
    return order + complements(meaning)


def complements(meaning: Clause) -> list[Token]:
    """Return what follows the verb and its subject: object, recipient, "that ..."."""
    tokens = nominal(meaning.object) if meaning.object else []
    if meaning.recipient:
        tokens += [TO, *nominal(meaning.recipient)]
    if meaning.content:
        tokens += [THAT, *clause(meaning.content)]
    return tokens


def nominal(meaning: NounPhrase | Pronoun | Gap) -> list[Token]:
    """Return article, adjective, noun, material, place and relative clause, in this order."""
    if isinstance(meaning, Gap):
        return []
    if isinstance(meaning, Pronoun):
        return [PRONOUN]
    tokens = [THE if meaning.definite else A, *optional(meaning.adjective), noun(meaning)]
    tokens += optional(meaning.material)
    if meaning.place:
        tokens += [word(meaning.place.preposition), *nominal(meaning.place.ground)]
    if meaning.relative:
        tokens += [WHICH, *clause(meaning.relative)]
    return tokens


def noun(meaning: NounPhrase) -> Token:
    """Return the noun, the only word of the language that is inflected."""
    referent = meaning.referent
    entry = word(referent.noun)
    return Token(entry.form + PLURAL, entry.gloss + "-PL") if referent.plural else entry


def word(entry: Word) -> Token:
    """Return the uninflected word."""
    return Token(entry.mirel, entry.gloss)


def optional(entry: Word | None) -> list[Token]:
    """Return the uninflected word, if there is one."""
    return [word(entry)] if entry else []

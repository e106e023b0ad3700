"""Sodak, the target language: a meaning put into words.

The verb closes every clause, adjectives follow the noun. Articles, adjectives and pronouns agree
with their noun in gender, number and case, verbs with their subject in gender and number.
"""

from enum import StrEnum

from ablate.data.toy.lexicon import Gender, Token, Word
from ablate.data.toy.meaning import Clause, Gap, NounPhrase, Pronoun, Referent, Sentence


class Case(StrEnum):
    """Of a noun phrase, by its role."""

    NOMINATIVE = "NOM"
    ACCUSATIVE = "ACC"
    DATIVE = "DAT"


# stems that take the endings below
THE, A, WHICH, PRONOUN = Token("d", "the"), Token("j", "a"), Token("w", "which"), Token("h", "it")
AND, THAT = Token("esh", "and"), Token("ox", "that")

# an ending is a vowel for gender and number, then a consonant for the case or for the verb
VOWEL = {Gender.MASCULINE: "o", Gender.FEMININE: "a", Gender.NEUTER: "e"}
PLURAL_VOWEL = "i"
CASE = {Case.NOMINATIVE: "r", Case.ACCUSATIVE: "n", Case.DATIVE: "m"}
VERB = "t"

PLURAL, LINK = "ur", "s"  # of nouns, and between the two nouns of a compound


def sentence(meaning: Sentence) -> list[Token]:
    """Return the clauses, joined by "and"."""
    first, *further = meaning
    return clause(first) + [token for each in further for token in (AND, *clause(each))]


def clause(meaning: Clause) -> list[Token]:
    """Return subject, adverb, recipient, object, inner clause, verb, in this order."""
    tokens = nominal(meaning.subject, Case.NOMINATIVE)
    if meaning.adverb:
        tokens.append(word(meaning.adverb))
    if meaning.recipient:
        tokens += nominal(meaning.recipient, Case.DATIVE)
    if meaning.object:
        tokens += nominal(meaning.object, Case.ACCUSATIVE)
    if meaning.content:
        tokens += [*clause(meaning.content), THAT]
    return [*tokens, verb(meaning)]


def nominal(meaning: NounPhrase | Pronoun | Gap, case: Case) -> list[Token]:
    """Return article, noun, adjective, place and relative clause, in this order."""
    referent = meaning.referent
    if isinstance(meaning, Gap):
        return []
    if isinstance(meaning, Pronoun):
        return [agree(PRONOUN, referent, case)]
    tokens = [agree(THE if meaning.definite else A, referent, case), noun(meaning)]
    if meaning.adjective:
        tokens.append(agree(word(meaning.adjective), referent, case))
    if meaning.place:
        place = meaning.place
        tokens += [*nominal(place.ground, Case.DATIVE), word(place.preposition)]
    if meaning.relative:
        tokens += relative(meaning.relative, referent)
    return tokens


def relative(meaning: Clause, head: Referent) -> list[Token]:
    """Return the relative clause; its pronoun has the head's gender and the gap's case."""
    case = Case.NOMINATIVE if isinstance(meaning.subject, Gap) else Case.ACCUSATIVE
    return [agree(WHICH, head, case), *clause(meaning)]


def noun(meaning: NounPhrase) -> Token:
    """Return the noun, glued to its material, with the plural ending."""
    referent, material = meaning.referent, meaning.material
    form, gloss = referent.noun.sodak, referent.noun.gloss
    if material:
        form, gloss = material.sodak + LINK + form, f"{material.gloss}+{gloss}"
    return Token(form + PLURAL, gloss + "-PL") if referent.plural else Token(form, gloss)


def verb(meaning: Clause) -> Token:
    """Return the verb, agreeing with its subject."""
    vowel, features = agreement(meaning.subject.referent)
    return Token(meaning.verb.sodak + vowel + VERB, f"{meaning.verb.gloss}.{features}")


def agree(stem: Token, referent: Referent, case: Case) -> Token:
    """Return an article, adjective or pronoun with the ending that the referent asks for."""
    vowel, features = agreement(referent)
    return Token(stem.form + vowel + CASE[case], f"{stem.gloss}.{case}.{features}")


def agreement(referent: Referent) -> tuple[str, str]:
    """Return the vowel and the gloss of the referent's number and, in the singular, gender."""
    gender = referent.noun.gender
    return (PLURAL_VOWEL, "PL") if referent.plural else (VOWEL[gender], gender)


def word(entry: Word) -> Token:
    """Return the uninflected word or stem."""
    return Token(entry.sodak, entry.gloss)

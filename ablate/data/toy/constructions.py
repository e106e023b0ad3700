"""The constructions in which Mirel and Sodak differ, each with its examples."""

from collections.abc import Callable
from typing import NamedTuple

from ablate.data.toy.lexicon import (
    ADJECTIVES,
    ADVERBS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Noun,
    Verb,
    Word,
)
from ablate.data.toy.tree import (
    Clause,
    Gap,
    NounPhrase,
    Place,
    Pronoun,
    Referent,
    Sentence,
    clauses,
    own_phrases,
)


class Construction(NamedTuple):
    """`shown_by` tells whether a sentence has the construction."""

    name: str
    shown_by: Callable[[Sentence], bool]
    examples: tuple[Sentence, ...]


def _clause_where(test: Callable[[Clause], object]) -> Callable[[Sentence], bool]:
    return lambda meaning: any(test(clause) for clause in clauses(meaning))


def _phrase_where(test: Callable[[NounPhrase], object]) -> Callable[[Sentence], bool]:
    return _clause_where(lambda clause: any(test(phrase) for phrase in own_phrases(clause)))


_NOUN = {noun.gloss: noun for noun in NOUNS}
_VERB = {verb.gloss: verb for verb in VERBS}
_OTHER = {word.gloss: word for word in ADJECTIVES + ADVERBS + PREPOSITIONS}


def _the(noun: str, plural: bool = False, **parts: object) -> NounPhrase:
    return NounPhrase(Referent(_NOUN[noun], plural), definite=True, **parts)

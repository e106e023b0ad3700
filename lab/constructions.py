"""The constructions in which the two languages of the built-in corpus differ, with examples.

The languages are Mirel, the source, and Sodak, the target. Both are artificial.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ablate.data.toy.grammar import (
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
from ablate.data.toy.lexicon import ADJECTIVES, ADVERBS, NOUNS, PREPOSITIONS, VERBS


class Construction(NamedTuple):
    """A grammatical construction with examples.

    `shown_by` returns whether a sentence has the construction.
    """

    name: str
    shown_by: Callable[[Sentence], bool]
    examples: tuple[Sentence, ...]


def _clause_where(test: Callable[[Clause], object]) -> Callable[[Sentence], bool]:
    return lambda meaning: any(test(clause) for clause in clauses(meaning))


def _phrase_where(test: Callable[[NounPhrase], object]) -> Callable[[Sentence], bool]:
    return _clause_where(lambda clause: any(test(phrase) for phrase in own_phrases(clause)))


_NOUN = {noun.gloss: noun for noun in NOUNS}
_VERB = {verb.gloss: verb for verb in VERBS}
_WORD = {word.gloss: word for word in ADJECTIVES + ADVERBS + PREPOSITIONS}


def _the(noun: str, *, plural: bool = False) -> NounPhrase:
    return NounPhrase(Referent(_NOUN[noun], plural), definite=True)


def _a(noun: str) -> NounPhrase:
    return replace(_the(noun), definite=False)


def _which(phrase: NounPhrase, verb: str, **given: NounPhrase) -> NounPhrase:
    """Return a noun phrase with a relative clause added.

    Either `subject` or `object` is given. The other of the two is the gap in the relative clause.
    """
    gap = Gap(phrase.referent)
    subject, object_ = given.get("subject", gap), given.get("object", gap)
    return replace(phrase, relative=Clause(_VERB[verb], subject, object_))


def _near(phrase: NounPhrase, ground: NounPhrase) -> NounPhrase:
    return replace(phrase, place=Place(_WORD["near"], ground))


def _that_it(verb: str, subject: NounPhrase) -> Clause:
    """Return the clause "SUBJECT thinks that it VERB"."""
    return Clause(_VERB["think"], subject, content=Clause(_VERB[verb], Pronoun(subject.referent)))


_DOG_SEES_CAT = Clause(_VERB["see"], _the("dog"), _a("cat"))
_WOMAN, _TOWER = _the("woman"), _the("tower")

CONSTRUCTIONS = (
    Construction(
        "Verb in the middle or at the end; roles by order or by case",
        _clause_where(lambda clause: isinstance(clause.object, NounPhrase)),
        (
            (_DOG_SEES_CAT,),
            (Clause(_VERB["see"], _a("cat"), _the("dog")),),
        ),
    ),
    Construction(
        "Adverb: first or after the verb; the Mirel verb stays second",
        _clause_where(lambda clause: clause.adverb),
        (
            (replace(_DOG_SEES_CAT, adverb=_WORD["today"], fronted=True),),
            (replace(_DOG_SEES_CAT, adverb=_WORD["today"]),),
        ),
    ),
    Construction(
        "Adjective before or after its noun, with gender and number",
        _phrase_where(lambda phrase: phrase.adjective),
        tuple(
            (Clause(_VERB["sleep"], replace(phrase, adjective=_WORD["old"])),)
            for phrase in (_the("man"), _the("horse"), _the("man", plural=True))
        ),
    ),
    Construction(
        "Recipient: last in Mirel, in Sodak a dative before the object",
        _clause_where(lambda clause: clause.recipient),
        ((Clause(_VERB["give"], _WOMAN, _a("cup"), recipient=_the("child")),),),
    ),
    Construction(
        "Compound: two words of Mirel, one of Sodak in the other order",
        _phrase_where(lambda phrase: phrase.material),
        ((Clause(_VERB["fall"], replace(_the("bridge"), material=_NOUN["stone"])),),),
    ),
    Construction(
        "Place: before its noun or after it, and the verb agrees across it",
        _phrase_where(lambda phrase: phrase.place),
        (
            (Clause(_VERB["sleep"], _near(_the("woman", plural=True), _TOWER)),),
            (Clause(_VERB["sleep"], _near(_WOMAN, _the("tower", plural=True))),),
        ),
    ),
    Construction(
        "Relative clause with the subject missing; the verb agrees across it",
        _clause_where(lambda clause: isinstance(clause.subject, Gap)),
        ((Clause(_VERB["fall"], _which(_the("horse"), "fear", object=_a("wolf"))),),),
    ),
    Construction(
        "Relative clause with the object missing: another case of `which`",
        _clause_where(lambda clause: isinstance(clause.object, Gap)),
        ((Clause(_VERB["fall"], _which(_the("horse"), "fear", subject=_a("wolf"))),),),
    ),
    Construction(
        "Clause as content: after the Mirel verb, before the Sodak one",
        _clause_where(lambda clause: clause.content),
        ((Clause(_VERB["say"], _the("judge"), content=_DOG_SEES_CAT),),),
    ),
    Construction(
        "Pronoun: a single word in Mirel; in Sodak, a word for each gender of its noun",
        _clause_where(lambda clause: isinstance(clause.subject, Pronoun)),
        (
            (_DOG_SEES_CAT, Clause(_VERB["sleep"], Pronoun(_DOG_SEES_CAT.subject.referent))),
            (_that_it("fall", _the("horse")),),
            (_that_it("fall", _WOMAN),),
        ),
    ),
    Construction(
        "Ambiguous noun: decided by what its clause's verb is about, body or mind",
        _phrase_where(lambda phrase: phrase.referent.noun.domain),
        (
            (Clause(_VERB["catch"], _the("man"), _the("key")),),
            (Clause(_VERB["forget"], _the("man"), _the("answer")),),
        ),
    ),
    Construction(
        "Ambiguous verb: decided by its subject, a living being or a thing",
        _clause_where(lambda clause: clause.verb.animate_subject is not None),
        (
            (Clause(_VERB["hold"], _near(_the("child"), _TOWER), _a("cup")),),
            (Clause(_VERB["contain"], _near(_the("house"), _TOWER), _a("cup")),),
        ),
    ),
)

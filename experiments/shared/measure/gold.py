"""Generate sentences of the built-in corpus with grammatical links between their words and with
word alignments.

The sentences are newly generated, and the corpus's rule assigns them to validation or test, so no
model has trained on these sentences. Links and alignments come from the trees from which the
sentences are generated. To locate words, every word form in a tree is replaced by a number, and the
sentence is generated again: the numbers mark the positions.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from random import Random
from typing import Any, NamedTuple

from ablate.data.toy import USUAL
from ablate.data.toy import _home as home  # with a public name, all runs would be outdated
from ablate.data.toy.grammar import (
    MIREL,
    SODAK,
    Pronoun,
    Referent,
    Sentence,
    Speaker,
    clauses,
    own_phrases,
)
from ablate.data.toy.lexicon import Word, text

LONGEST = 14  # words, as in the corpus
Pairs = list[tuple[int, int]]
KINDS = ("verb_subject", "pronoun", "ambiguous_noun")


class Gold(NamedTuple):
    """A sentence pair as lists of words, with the correct grammatical links between source words,
    and the correct alignment of target words with source words.

    `links` has pairs of positions in the source sentence, for each kind of link: a verb and its
    subject, a pronoun and its antecedent, an ambiguous noun and the verb that disambiguates the
    noun. `aligned` has pairs of a target position and a source position whose words come from the
    same dictionary entry.
    """

    src: list[str]
    tgt: list[str]
    links: dict[str, Pairs]
    aligned: Pairs


@cache
def sentences(split: str, count: int) -> tuple[Gold, ...]:
    """Return `count` different sentence pairs of a split ("validation" or "test") of the built-in
    corpus, with grammatical links and word alignments.
    """
    speaker = Speaker(USUAL, Random(f"gold {split}"))
    by_line: dict[str, Gold] = {}
    while len(by_line) < count:
        meaning = speaker.sentence()
        line = text(MIREL.sentence(meaning))
        if home(line) != split or line in by_line:
            continue
        sentence = gold(meaning)
        if max(len(sentence.src), len(sentence.tgt)) <= LONGEST:
            by_line[line] = sentence
    return tuple(by_line.values())


def gold(meaning: Sentence) -> Gold:
    """Return the sentence pair that expresses a meaning (a syntax tree) in both languages of the
    built-in corpus.

    The result includes the grammatical links between words of the source sentence, such as a verb
    and its subject, and the alignment of target words with source words.
    """
    numbered = _numbered(meaning, {}, iter(range(1000)))
    src, tgt = (text(side.sentence(meaning)).split() for side in (MIREL, SODAK))
    sources = _places(MIREL.sentence(numbered))
    targets = _places(SODAK.sentence(numbered))
    aligned = [(targets[tag], sources[tag]) for tag in sources if tag in targets]
    return Gold(src, tgt, _links(numbered, sources, src), sorted(aligned))


def _numbered(node: Any, referents: dict[int, Referent], numbers: Iterator[int]) -> Any:
    """Return a copy of a syntax tree in which a different integer, as text, takes the place of the
    form of each word.

    A `Referent` is what a noun phrase or a pronoun refers to. A referent that occurs twice in the
    tree, such as that of a noun and of a later pronoun, is copied once.

    Args:
        node: a node of the tree.
        referents: the copies of referents that were made so far, by the id of the original.
        numbers: iterator over the integers that are not used yet.
    """
    if isinstance(node, Referent) and id(node) in referents:
        return referents[id(node)]
    if isinstance(node, Word):
        number = str(next(numbers))
        return replace(node, mirel=number, sodak=number)
    if isinstance(node, tuple):
        return tuple(_numbered(part, referents, numbers) for part in node)
    if not is_dataclass(node):
        return node
    parts = {f.name: _numbered(getattr(node, f.name), referents, numbers) for f in fields(node)}
    numbered: Any = replace(node, **parts)  # type: ignore[type-var]
    if isinstance(numbered, Referent):
        referents[id(node)] = numbered
    return numbered


def _places(tokens: list[Any]) -> dict[str, int]:
    """Return the position in the sentence of each integer that takes the place of a word.

    The tokens come from a tree in which `_numbered` replaced the words by integers. A compound word
    of Sodak, the target language, contains two integers.
    """
    return {tag: i for i, token in enumerate(tokens) for tag in re.findall(r"\d+", token.form)}


def _links(meaning: Sentence, places: dict[str, int], src: list[str]) -> dict[str, Pairs]:
    links: dict[str, Pairs] = {kind: [] for kind in KINDS}
    pronouns = (i for i, word in enumerate(src) if word == MIREL.PRONOUN.form)
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

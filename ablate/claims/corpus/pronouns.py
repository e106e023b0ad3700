"""Say by its gender what "it" stands for, where meaning alone tells.

Equation: source a v b because it was w, where a and b are a living being and a thing in either
    order and w is said of one of the two kinds; target a v b p, where p is the pronoun with the
    gender of the noun of that kind.
Source: Levesque et al. 2012, The Winograd schema challenge; arXiv:1810.02268 (a pronoun translated
    by the gender of what it stands for).
What differs: invented words; a word is known to be said of living beings or of things, and nothing
    else tells what is meant: neither the order of the nouns nor who acts.
What to expect: chance is who translates all else and does not read the last word. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.claims.corpus.rule import Choose, Level, Synthetic, Words, require
from ablate.config.limits import Count, Range

KINDS = ("living", "thing")
SAID_OF = dict(zip(("tired", "wide"), KINDS, strict=True))  # what is said of which kind
FIRST, SECOND, PRONOUN = 0, 2, 4  # places in the source of the nouns and of "it"
ANSWER = 3  # place in the target of the pronoun
GENDERS = ("he", "she")


@dataclass(kw_only=True)
class Pronouns(Synthetic):
    """The target ends in a pronoun.

    Args:
        nouns: of each kind, half of them of either gender.
        verbs: that join two nouns.
        adjectives: that are said of each kind.

    Raises:
        UserError: the nouns of a kind cannot be halved.
    """

    nouns: Annotated[int, Range(2)]
    verbs: Count
    adjectives: Count

    def __post_init__(self) -> None:
        require(self.nouns % 2 == 0, f"data.nouns={self.nouns} must be even: half of each gender.")

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return a sentence, and its translation with the pronoun for what is meant."""
        first = choose(2)
        kinds = (KINDS[first], KINDS[1 - first])
        nouns = [f"{kind}{choose(self.nouns)}" for kind in kinds]
        event = [nouns[0], f"verb{choose(self.verbs)}", nouns[1]]
        said = f"{[*SAID_OF][choose(2)]}{choose(self.adjectives)}"
        src = [*event, "because", "it", "was", said]
        meant, _ = antecedent(src)
        return src, [*(word.upper() for word in event), gender(src[meant])]

    def chance(self) -> Level:
        """Return the level of who translates all but the last word."""
        tokens = ANSWER + 2  # EOS too; the genders of the two nouns differ in every second sentence
        return Level(log(2) / 2 / tokens, (tokens - 0.25) / tokens)


def antecedent(src: Words) -> tuple[int, int]:
    """Return the places in a source of the noun that is meant and of its rival."""
    kind = SAID_OF[src[-1].rstrip("0123456789")]
    return (FIRST, SECOND) if src[FIRST].startswith(kind) else (SECOND, FIRST)


def gender(noun: str) -> str:
    """Return the pronoun of a noun."""
    return GENDERS[int(noun.removeprefix("living").removeprefix("thing")) % 2]


def turned(src: Words) -> Words:
    """Return the sentence that says as much of the other noun."""
    word, other = SAID_OF if src[-1].startswith([*SAID_OF][0]) else reversed(SAID_OF)
    return [*src[:-1], src[-1].replace(word, other)]

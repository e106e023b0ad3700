"""Translate "it" by a pronoun whose gender depends on the meaning of the sentence.

Equation: source a v b because it was w, where a and b are a living being and a thing in either
    order and the adjective w applies to only one of these kinds; target a v b p, where p is the
    pronoun with the gender of the noun of this kind.
Source: Levesque et al. 2012, The Winograd schema challenge; arXiv:1810.02268 (a pronoun translated
    by the gender of what it stands for).
What differs: invented words; an adjective applies either to living beings or to things, and nothing
    else determines the antecedent: neither the order of the nouns nor their role.
What to expect: chance: a predictor that translates everything else but ignores the last word.
    Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, require

KINDS = ("living", "thing")
SAID_OF = dict(zip(("tired", "wide"), KINDS, strict=True))  # which kind an adjective applies to
FIRST, SECOND, PRONOUN = 0, 2, 4  # positions in the source of the two nouns and of "it"
ANSWER = 3  # position of the pronoun in the target
GENDERS = ("he", "she")


@dataclass(kw_only=True)
class Pronouns(Synthetic):
    """A synthetic corpus of sentences whose translation ends in a pronoun that agrees with a noun
    of the sentence.

    Args:
        nouns: number of nouns of each kind (living beings, things); must be even.
        verbs: number of different verbs.
        adjectives: number of adjectives for each kind of noun (living beings, things).

    Raises:
        UserError: the number of nouns is odd.
    """

    nouns: Annotated[int, Range(2)]
    verbs: Count
    adjectives: Count

    def __post_init__(self) -> None:
        require(self.nouns % 2 == 0, f"data.nouns={self.nouns} must be even: half of each gender.")

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return a sentence as source, and as target its translation, which ends in the pronoun for
        the antecedent of "it".
        """
        first = choose(2)
        kinds = (KINDS[first], KINDS[1 - first])
        nouns = [f"{kind}{choose(self.nouns)}" for kind in kinds]
        event = [nouns[0], f"verb{choose(self.verbs)}", nouns[1]]
        adjective = f"{[*SAID_OF][choose(2)]}{choose(self.adjectives)}"
        src = [*event, "because", "it", "was", adjective]
        meant, _ = antecedent(src)
        return src, [*(word.upper() for word in event), gender(src[meant])]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the last word of the
        source.
        """
        # including EOS; the genders of the two nouns differ in half of the sentences
        tokens = ANSWER + 2
        return Level(log(2) / 2 / tokens, (tokens - 0.25) / tokens)


def antecedent(src: Words) -> tuple[int, int]:
    """Return two positions in a source: of the noun that "it" refers to, and of the other noun."""
    kind = SAID_OF[src[-1].rstrip("0123456789")]
    return (FIRST, SECOND) if src[FIRST].startswith(kind) else (SECOND, FIRST)


def gender(noun: str) -> str:
    """Return the target pronoun that agrees with a noun in gender."""
    return GENDERS[int(noun.removeprefix("living").removeprefix("thing")) % 2]


def turned(src: Words) -> Words:
    """Return the source sentence with an adjective that makes "it" refer to the other noun."""
    word, other = SAID_OF if src[-1].startswith([*SAID_OF][0]) else reversed(SAID_OF)
    return [*src[:-1], src[-1].replace(word, other)]

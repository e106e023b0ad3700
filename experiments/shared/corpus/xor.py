"""XOR of two marked bits.

Equation: y = x_i + x_j modulo 2, i and j the two marked positions; x_t uniform bits.
Source: doi:10.1162/neco.1997.9.8.1735, section 5.4 (adding two marked numbers); arXiv:1906.06755 on
    parity and attention.
What differs: bits in place of numbers; the mark is a word before the bit.
What to expect: learned late and suddenly, because no single word is informative. Chance: a
    predictor that ignores the source. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, answer, distinct, named


@dataclass(kw_only=True)
class Xor(Synthetic):
    """A synthetic corpus in which the source is a sequence of bits with two marked bits, and the
    target is their XOR.

    Args:
        length: number of bits in a source.
    """

    length: Annotated[int, Range(2)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return bits with two of them marked as source, and their XOR as target."""
        bits = [choose(2) for _ in range(self.length)]
        marked = distinct(choose, self.length, 2)
        words = [["mark", bit] if i in marked else [bit] for i, bit in enumerate(named("b", bits))]
        xor = bits[marked[0]] ^ bits[marked[1]]
        return [word for group in words for word in group], named("b", [xor])

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        return answer(log(2), 1 / 2)

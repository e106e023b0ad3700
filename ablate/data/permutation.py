"""Random permutations that need no memory: every entry is computed on access.

Equation: to permute the numbers 0 to n - 1, a Feistel network of ROUNDS rounds shuffles all numbers
    of 2b bits, where b is the smallest integer with 2^2b >= n. A result of n or above goes through
    the network again until it is below n.
Source: Luby and Rackoff 1988, doi:10.1137/0217022; the repetition: Black and Rogaway 2002,
    doi:10.1007/3-540-45760-7_9, section 3 (cycle walking).
What differs: the round function is a multiplicative hash with random keys, which is not
    cryptographically secure.
What to expect: an order that training cannot distinguish from a random one, without an array of n
numbers.
"""

import numpy as np
import numpy.typing as npt

ROUNDS = 6
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


class Permutation:
    """A random permutation of the numbers 0 to `count - 1`, whose entries are computed on access.

    Args:
        count: number of entries, at least 1.
        random: generator that draws the keys.
    """

    def __init__(self, count: int, random: np.random.Generator) -> None:
        self._count = count
        self._bits = np.uint64(max(1, -(-(count - 1).bit_length() // 2)))
        self._keys = random.integers(1 << 64, size=ROUNDS, dtype=np.uint64)

    def __call__(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers at the given positions of the permutation."""
        numbers = self._shuffled(places.astype(np.uint64))
        while (outside := numbers >= self._count).any():
            numbers[outside] = self._shuffled(numbers[outside])
        return numbers.astype(np.int64)

    def _shuffled(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        half = (np.uint64(1) << self._bits) - np.uint64(1)
        left, right = numbers >> self._bits, numbers & half
        for key in self._keys:
            mixed = (right + key) * ODD
            mixed = (mixed ^ (mixed >> np.uint64(32))) * ODD
            left, right = right, left ^ ((mixed >> np.uint64(32)) & half)
        return (left << self._bits) | right

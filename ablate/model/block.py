"""The interface and the options of blocks: a block decides which sub-layers of a layer read the
same input.

serial                        parallel

x --> attention --(add)       x --+--> attention -----+
       feed-forward --(add)       +--> feed-forward --+--(add)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

from ablate.model import Law


class Block(ABC):
    """Decides how many sub-layers share each residual connection of a layer; built as `block()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return the number of sub-layers under each residual connection of a layer, in order.

        `sublayers` are the names of the layer's sub-layers, such as "feed_forward". The returned
        numbers sum to len(sublayers).
        """


class Serial(Block):
    """Serial block: sub-layers follow each other.

    Gives each sub-layer a residual connection of its own.

    Equation: x' = r(x, attention), y = r(x', feed-forward), where r is the residual connection with
        its norm.
    Source: arXiv:1706.03762, section 3.1.
    What differs: nothing.
    What to expect: this is the reference option of the factor.
    """

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return a list of ones: each residual connection has exactly one sub-layer."""
        return [1] * len(sublayers)


class Parallel(Block):
    """Parallel block: attention and feed-forward network read the same input.

    Puts all sub-layers of a layer under a single residual connection.

    Equation: y = r(x, attention + feed-forward), where r is the residual connection. With Pre-LN: y
        = x + attention(norm(x)) + feed_forward(norm(x)), with a single norm.
    Source: arXiv:2204.02311, section 2 (PaLM: parallel layers).
    What differs: the block works with any residual connection, not only with Pre-LN. In the decoder
        of an encoder-decoder, cross-attention is parallel too, so it does not see the output of
        self-attention. The matrix products are not fused, so only the time of a norm is saved.
    What to expect: a slightly higher loss in small models, and no difference in large models. Each
        layer has one norm less.
    """

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return the number of all sub-layers, in a list of length 1."""
        return [len(sublayers)]

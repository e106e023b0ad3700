"""The seam of blocks: which sub-layers of a layer read the same tokens.

serial                        parallel
x --> attention --(add)       x --+--> attention -----+
       feed-forward --(add)       +--> feed-forward --+--(add)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

from ablate.model.laws import Law


class Block(ABC):
    """Deals the sub-layers of a layer to residual connections; built as `block()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return how many sub-layers each residual connection of a layer leads past, in order.

        `sublayers` are their names, such as "feed_forward"; the sizes sum to their number.
        """

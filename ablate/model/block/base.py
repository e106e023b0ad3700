"""The interface of blocks: which sub-layers of a layer read the same tokens.

serial                        parallel

x --> attention --(add)       x --+--> attention -----+
       feed-forward --(add)       +--> feed-forward --+--(add)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

from ablate.model.laws import Law


class Block(ABC):
    """Groups the sub-layers of a layer under residual connections; built as `block()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return for each residual connection of a layer the number of its sub-layers, in order.

        `sublayers` are the names of the sub-layers, such as "feed_forward"; the sizes sum to their
        number.
        """

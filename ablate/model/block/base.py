"""The interface of blocks: a block decides which sub-layers of a layer read the same input.

serial                        parallel

x --> attention --(add)       x --+--> attention -----+
       feed-forward --(add)       +--> feed-forward --+--(add)
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

from ablate.model.laws import Law


class Block(ABC):
    """Decides how many sub-layers share each residual connection of a layer; built as `block()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return the number of sub-layers under each residual connection of a layer, in order.

        `sublayers` are the names of the layer's sub-layers, such as "feed_forward". The returned
        numbers sum to len(sublayers).
        """

"""The interface and the options of padding masks, and the class `Mask` that attention kernels
receive.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ablate.model import Law


@dataclass(frozen=True)
class Mask:
    """The rules that say which keys each query may attend to.

    A query may attend to a key if every field of the mask allows it. True = may attend. The
    attention sub-layers of a stack share one mask, so tensors that are computed from it are stored
    in `memo`.
    """

    queries: Bool[Tensor, "B Q"] | None = None  # queries that may attend at all
    keys: Bool[Tensor, "B K"] | None = None  # keys that may be attended to
    causal: bool = False  # query i sees keys 0 to i
    pairs: Bool[Tensor, "#B 1 #Q #K"] | None = None  # any other rule
    # positions, for kernels that need them; None: 0, 1, 2, ...
    query_positions: Int[Tensor, "#B Q"] | None = None
    key_positions: Int[Tensor, "#B K"] | None = None
    memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, which is called only the first time for this key."""
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]

    @property
    def is_causal_alone(self) -> bool:
        """Whether the causal rule is the only rule of the mask."""
        return self.causal and self.queries is None and self.keys is None and self.pairs is None

    def after(self, prefix: int, real: Bool[Tensor, "B L"]) -> "Mask":
        """Return this mask with a causal rule; all tokens may read the first `prefix` tokens.

        `real` is False at padding; only its shape is used.
        """
        if not prefix:
            return replace(self, causal=True)
        pairs = torch.ones(real.size(1), real.size(1), dtype=torch.bool, device=real.device).tril()
        pairs[:, :prefix] = True
        return replace(self, pairs=pairs[None, None])

    def at(self, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]) -> "Mask":
        """Return this mask with the positions of its queries and keys set."""
        return replace(self, query_positions=queries, key_positions=keys)

    def within(self, documents: Int[Tensor, "B L"]) -> "Mask":
        """Return this mask with the further rule that a query reads only keys of its own document.

        `documents` has the number of each token's document.
        """
        same = (documents[:, :, None] == documents[:, None])[:, None]
        return replace(self, pairs=same if self.pairs is None else same & self.pairs)

    def dense(
        self, n_queries: int, n_keys: int, device: torch.device
    ) -> Bool[Tensor, "#B 1 #Q #K"] | None:
        """Return the mask as a boolean matrix; None if every query may attend to every key."""
        # sizes are no part of the key: torch.compile would trace a graph for each size
        matrix: Tensor | None = self.once("matrix", lambda: self._matrix(n_queries, n_keys, device))
        return matrix

    def _matrix(self, n_queries: int, n_keys: int, device: torch.device) -> Tensor | None:
        parts = []
        if self.causal:
            square = torch.ones(n_queries, n_keys, dtype=torch.bool, device=device)
            parts.append(square.tril()[None, None])
        if self.queries is not None:
            parts.append(self.queries[:, None, :, None])
        if self.keys is not None:
            parts.append(self.keys[:, None, None])
        if self.pairs is not None:
            parts.append(self.pairs)
        return reduce(and_, parts) if parts else None

    def sides(
        self, n_queries: int, n_keys: int, device: torch.device
    ) -> tuple[Bool[Tensor, "#B 1 Q 1"], Bool[Tensor, "#B 1 K 1"]]:
        """Return two masks: the queries with an allowed key, and the keys with an allowed query.

        The causal rule is ignored. Kernels that compute no weights for pairs of queries and keys
        use this method instead of `dense`.
        """
        keep = replace(self, causal=False).dense(n_queries, n_keys, device)
        if keep is None:
            keep = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)
        keep = keep.expand(-1, -1, n_queries, n_keys)
        return keep.any(3, keepdim=True), keep.any(2, keepdim=True).mT


class Padding(ABC):
    """Makes the mask that handles padding; built as `padding()`, once for each attention sub-layer.

    The causal mask of the decoder is separate.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether a causal mask alone gives real tokens the same outputs if padding is on the right
    is_implied_by_causality: ClassVar[bool] = False

    @abstractmethod
    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return the mask; `queries` and `keys` are True at real tokens and False at padding."""


class Columns(Padding):
    """Masks padding as keys, which is the correct mask.

    Lets no token attend to padding.

    Equation: keep[i, j] = real(j): query i may attend to key j if key j is no padding.
    Source: the "padding bias" of the authors' code, tensor2tensor (arXiv:1803.07416);
        arXiv:1706.03762 does not mention padding.
    What differs: nothing.
    What to expect: no real token depends on padding. The outputs at padding positions are never
        read.
    """

    is_implied_by_causality = True

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that hides the keys at padding."""
        return Mask(keys=keys)


class Rows(Padding):
    """Masks padding as queries only, which is a common mistake.

    A mask by which padding attends to nothing, while real tokens attend to padding.

    Equation: keep[i, j] = real(i): query i may attend to all keys if query i is no padding.
    Source: the transposed mask, a common mistake in code that follows arXiv:1706.03762.
    What differs: padding queries attend to nothing, while real tokens attend to padding.
    What to expect: a translation depends on the lengths of the other sentences in its batch. The
        output of fully masked rows depends on model.attention.fill. Batches sorted by length have
        little padding, so the harm is visible only with unsorted batches.
    """

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that hides all keys from queries at padding."""
        return Mask(queries=queries)


class RowsAndColumns(Padding):
    """Masks padding both as keys and as queries.

    A mask by which no token attends to padding, and padding attends to nothing.

    Equation: keep[i, j] = real(i) and real(j).
    Source: tutorials of the Transformer (arXiv:1706.03762, which does not mention padding).
    What differs: the row of a padding query is fully masked; its output depends on
        model.attention.fill (zeros, the mean of all values, or NaN).
    What to expect: the results of `columns` at every real position. The exception is
        fill=minus_inf: it makes NaN at padding, and NaN spreads to real positions, because 0 * NaN
        = NaN even if the attention weight is 0.
    """

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that hides keys at padding, and all keys from queries at padding."""
        return Mask(queries=queries, keys=keys)


class NoPadding(Padding):
    """No padding mask.

    An option without a padding mask: padding is a token like any other.

    Equation: keep[i, j] = True.
    Source: arXiv:1706.03762 taken literally: its text does not mention padding.
    What differs: real source tokens and the decoder attend to padding of the source. Padding of
        targets is on the right, where the causal mask hides it in any case.
    What to expect: as with `rows`, a translation depends on the other sentences of its batch.
    """

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that allows everything."""
        return Mask()

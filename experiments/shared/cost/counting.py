"""Count the cost of a computation without a clock: operations, memory, dependent steps.

Equation: products is the number of multiplications and additions in matrix products; numbers is the
    number of elements that all other operations write, except views; peak_bytes is the largest
    number of bytes, at any time, of the tensors that the computation created; steps is the length
    of the longest chain of dependent operations; calls is the number of operations.
Source: torch.utils.flop_counter; `ablate.model.layers` counts the products.
What differs: a complete softmax or norm counts as one step that writes its output once; a matrix
    product counts as one step, although its sums have internal depth.
What to expect: the same numbers on every machine. Internal memory of kernels is not counted;
    `peak_memory` measures it.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ablate.model.layers import PRODUCTS, product_counter

COUNTS = ("products", "numbers", "peak_bytes", "steps", "calls")


def tensors(tree: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested lists, tuples and dictionaries."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from tensors(part)
    elif isinstance(tree, dict):
        yield from tensors([*tree.values()])


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A context manager that counts the operations of torch, and the memory of the tensors that
    they create.

    Attributes:
        calls: number of operations.
        numbers: number of elements that operations wrote, except matrix products.
        live: bytes of the storages that were created and not yet freed.
        peak: largest value of `live` so far.
        depth: for each storage, the length of the longest chain of operations that led to it.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers = self.peak = self.live = self.calls = 0
        self.depth: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and count it, unless it is a view."""
        out = func(*args, **(kwargs or {}))
        made = [*tensors(out)]
        if made and not func.is_view:
            self.count(func, [*tensors([args, kwargs])], made)
        return out

    def count(self, func: Any, read: list[Tensor], made: list[Tensor]) -> None:
        """Add one operation, with the tensors that it reads and makes, to the counts."""
        sources = [t.untyped_storage() for t in read]
        targets = [t.untyped_storage() for t in made]
        kept = {id(s) for s in sources}
        if all(id(s) in kept for s in targets) and not func._schema.is_mutable:
            return  # a view that torch does not mark as a view
        self.calls += 1
        if func.overloadpacket not in PRODUCTS and func.overloadpacket not in flop_registry:
            self.numbers += sum(t.numel() for t in made)
        step = 1 + max((self.depth.get(s, 0) for s in sources), default=0)
        for storage in targets:
            if storage not in self.depth and id(storage) not in kept:
                self.hold(storage)
            self.depth[storage] = step

    def hold(self, storage: Any) -> None:
        """Add the bytes of a tensor's storage to the live memory until the storage is freed."""
        size = storage.nbytes()
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self.release, size)

    def release(self, size: int) -> None:
        """Subtract `size` bytes of a freed storage from the live memory."""
        self.live -= size

    @property
    def steps(self) -> int:
        """The length of the longest chain of dependent operations that led to a live tensor."""
        return max(self.depth.values(), default=0)


def counted(work: Callable[[], object]) -> dict[str, float]:
    """Return the cost of a computation.

    Recurrent layers are counted step by step.

    Returns:
        products: operations in matrix products.
        numbers: elements that all other operations write.
        peak_bytes: largest number of bytes, at any time, of the tensors that the computation
            created.
        steps: length of the longest chain of operations that must run one after the other, for the
            tensors that `work` returns or leaves, such as gradients.
        calls: number of operations.
    """
    with product_counter() as products:
        counter, steps = run(work)
    return {
        "products": float(products.get_total_flops()),
        "numbers": float(counter.numbers),
        "peak_bytes": float(counter.peak),
        "steps": float(steps),
        "calls": float(counter.calls),
    }


def dependent_steps(work: Callable[[], object]) -> float:
    """Return the number of dependent steps of a computation: the length of the longest chain of
    operations in which each operation needs the result of the one before.

    `counted` returns this number among others. This function takes much less time, because it does
    not count the products.
    """
    return float(run(work)[1])


def run(work: Callable[[], object]) -> tuple[Counter, int]:
    """Run a computation, and return the counter of its operations, and the number of dependent
    steps that led to its result.
    """
    with in_single_steps(), Counter() as counter:
        left = work()
        steps = counter.steps
    del left
    return counter, steps


@contextmanager
def in_single_steps() -> Iterator[None]:
    """Switch oneDNN off within a `with` block, so that torch computes recurrent layers step by
    step. oneDNN's kernel would hide their operations.
    """
    # The context manager torch.backends.mkldnn.flags would warn about flags that do not change.
    before, *_ = torch.backends.mkldnn.set_flags(False)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        torch.backends.mkldnn.set_flags(before)  # type: ignore[no-untyped-call]

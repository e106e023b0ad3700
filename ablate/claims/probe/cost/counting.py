"""What a piece of work costs without a clock: operations, numbers written, bytes, dependent steps.

Equation: products are two operations for each multiplication with its addition, in matrix products;
    numbers are those that all other operations write, views left out; peak_bytes are the most that
    live at once of what the work itself makes; steps are the longest chain of operations of which
    each reads what the one before wrote, and calls are all operations.
Source: torch.utils.flop_counter counts the products.
What differs: a whole softmax or norm is one step and writes its output once, whatever it does
    inside; a matrix product is one step, though the sum within it has a depth of its own.
What to expect: the same numbers on every machine. What a kernel keeps for itself is not seen here,
    but in the peak of a process.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry, sdpa_flop_count

COUNTS = ("products", "numbers", "peak_bytes", "steps", "calls")
Shape = torch.Size


def fused_products(q: Shape, k: Shape, v: Shape, *others: Any, **named: Any) -> int:
    """Return the products of fused attention, of which torch counts those of GPUs alone."""
    return int(sdpa_flop_count(q, k, v))  # type: ignore[no-untyped-call]


PRODUCTS = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: fused_products}


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
    """Counts the operations of torch that run within it; memory is followed by storage."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers = self.peak = self.live = self.calls = 0
        self.depth: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count it; a view does nothing."""
        out = func(*args, **(kwargs or {}))
        made = [*tensors(out)]
        if made and not func.is_view:
            self.count(func, [*tensors([args, kwargs])], made)
        return out

    def count(self, func: Any, read: list[Tensor], made: list[Tensor]) -> None:
        """Count one operation."""
        sources = [t.untyped_storage() for t in read]
        targets = [t.untyped_storage() for t in made]
        kept = {id(s) for s in sources}
        if all(id(s) in kept for s in targets) and not func._schema.is_mutable:
            return  # a view by another name
        self.calls += 1
        if func.overloadpacket not in PRODUCTS and func.overloadpacket not in flop_registry:
            self.numbers += sum(t.numel() for t in made)
        step = 1 + max((self.depth.get(s, 0) for s in sources), default=0)
        for storage in targets:
            if storage not in self.depth and id(storage) not in kept:
                self.hold(storage)
            self.depth[storage] = step

    def hold(self, storage: Any) -> None:
        """Count the bytes of a storage from now on until nobody has it any more."""
        size = storage.nbytes()
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self.release, size)

    def release(self, size: int) -> None:
        """Count them no more."""
        self.live -= size

    @property
    def steps(self) -> int:
        """The longest chain among what is alive."""
        return max(self.depth.values(), default=0)


def counted(work: Callable[[], object]) -> dict[str, float]:
    """Return COUNTS of `work`; a recurrent layer is counted step by step, not as one kernel.

    The steps are those behind what `work` returns or leaves, such as gradients.
    """
    with (
        in_single_steps(),
        FlopCounterMode(display=False, custom_mapping=PRODUCTS) as products,
        Counter() as counter,
    ):
        left = work()
        steps = counter.steps
    del left
    return {
        "products": float(products.get_total_flops()),
        "numbers": float(counter.numbers),
        "peak_bytes": float(counter.peak),
        "steps": float(steps),
        "calls": float(counter.calls),
    }


def dependent_steps(work: Callable[[], object]) -> float:
    """Return the steps of COUNTS alone, which takes a fraction of the time."""
    with in_single_steps(), Counter() as counter:
        left = work()
        steps = counter.steps
    del left
    return float(steps)


@contextmanager
def in_single_steps() -> Iterator[None]:
    """Have recurrent layers computed by operations of their own, as oneDNN's kernel hides them."""
    # (`flags`, which is made for this, warns about switches that are not changed)
    before, *_ = torch.backends.mkldnn.set_flags(False)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        torch.backends.mkldnn.set_flags(before)  # type: ignore[no-untyped-call]


def without_values(wanted: bool) -> AbstractContextManager[Any]:
    """Return the context in which tensors have shapes alone, so that no size is too large."""
    return FakeTensorMode() if wanted else nullcontext()

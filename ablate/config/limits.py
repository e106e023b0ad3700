"""What a value of the config may be, said where its key is: `Annotated[int, Range(1)]`.

`ablate.config.check` reads these annotations in the schema and in the constructors of components.
A number that has no limits must be finite all the same.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable


@runtime_checkable
class Limit(Protocol):
    """Accepts some values; as text it says which: what stands after "it must"."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be; of a kind that this limit does not concern, always."""


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, which belong to it; without the lower one if `above`."""

    least: int | float
    most: int | float = math.inf
    above: bool = False

    def allows(self, value: Any) -> bool:
        """Whether a number is in the range."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return self.least <= value <= self.most and not (self.above and value == self.least)

    def __str__(self) -> str:
        lower = f"be above {self.least}" if self.above else f"be at least {self.least}"
        return lower if self.most == math.inf else f"{lower} and at most {self.most}"


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    def allows(self, value: Any) -> bool:
        """Whether it is one of them."""
        return value in self.words

    def __str__(self) -> str:
        return f"be {' or '.join(self.words)}"


@dataclass(frozen=True)
class Lasting:
    """A duration above zero, as text such as 00:12:00:00 or as a node such as {hours: 12}."""

    def allows(self, value: Any) -> bool:
        """Whether the duration has any part that is not zero."""
        if isinstance(value, Mapping):
            return any(value.values())
        return not isinstance(value, str) or value.strip("0:") != ""

    def __str__(self) -> str:
        return "be longer than no time"


@dataclass(frozen=True)
class NotEmpty:
    """Text with a character, a list with an item."""

    def allows(self, value: Any) -> bool:
        """Whether there is something in it."""
        return not isinstance(value, Collection) or len(value) > 0

    def __str__(self) -> str:
        return "not be empty"


Seed = Annotated[int, Range(0, 2**63 - 1)]  # what torch's generators take
Count = Annotated[int, Range(1)]

# "auto" and the short names are settled before (ablate.config.precision)
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true", "64-true")

# Arguments of classes that are not ours, and that take what cannot work.
FOREIGN: dict[str, Limit] = {
    "optimizer.lr": Range(0),
    "optimizer.eps": Range(0),
    "optimizer.weight_decay": Range(0),
    "callbacks.timer.duration": Lasting(),
    "trainer.devices": Range(1, 64),  # of one machine
    "trainer.num_nodes": Range(1),
    "trainer.accumulate_grad_batches": Range(1),
    "trainer.check_val_every_n_epoch": Range(1),
    "trainer.limit_train_batches": Range(0, above=True),
    "trainer.limit_val_batches": Range(0, above=True),
    "trainer.max_steps": Range(1),
    "trainer.max_time": Lasting(),
    "trainer.val_check_interval": Range(0, above=True),
    "trainer.log_every_n_steps": Range(0),
    "trainer.gradient_clip_val": Range(0),
    "trainer.precision": OneOf(PRECISIONS),
}

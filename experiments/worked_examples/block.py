"""Read worked examples: blocks of numbers that a document prints, with the operation that should
produce each block.

An example is a YAML file in the folder `examples` beside this module. The numbers in the file are
strings, because the number of printed decimals matters. The keys `lines` and `take` tell where the
module `transcribe` found the numbers in the document.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import yaml
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError

UNPRINTED = "unprinted"  # in place of an operation whose operands are not printed
COPY = "copy"
NEXT_TO_NOTHING = 1e-6  # unit of numbers that are never rounded
FOLDER = Path(__file__).with_name("examples")


@dataclass(frozen=True)
class Block:
    """A matrix of numbers that a document prints, and the operation that should produce these
    numbers.

    Attributes:
        name: name of the block in the example.
        lines: first and last line of the document that contain the block.
        printed: the numbers of each row as text, separated by spaces.
        take: regular expression that finds the numbers; see experiments.worked_examples.transcribe.
        by: name of the operation, "" for an input, or "unprinted" if the document does not print
            the operands.
        operands: names of the blocks to which the operation is applied.
        options: further arguments of the operation.
        rows: rows of the result that the document prints; all rows if empty.
        laws: properties that the numbers must have for any operands, such as "sum to one".
        exact: whether the numbers are counts, which are never rounded.
    """

    name: str
    lines: tuple[int, int]
    printed: tuple[str, ...]
    take: str | None = None
    by: str = ""
    operands: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    laws: tuple[str, ...] = ()
    exact: bool = False

    @cached_property
    def values(self) -> Float[Tensor, "R C"]:
        """The printed numbers in float64."""
        numbers = [[float(entry) for entry in row.split()] for row in self.printed]
        return torch.tensor(numbers, dtype=torch.float64)

    @cached_property
    def units(self) -> Float[Tensor, "R C"]:
        """The unit of the last printed decimal of each number, such as 0.01 for 1.25; almost zero
        for a count.
        """
        if self.exact:
            return torch.full_like(self.values, NEXT_TO_NOTHING)
        entries = [[10.0 ** -len(e.partition(".")[2]) for e in row.split()] for row in self.printed]
        return torch.tensor(entries, dtype=torch.float64)


@dataclass(frozen=True)
class Example:
    """A calculation with numbers that a document prints; the blocks are in the order of the text,
    operands before results.
    """

    name: str
    document: str  # title of the document
    section: str
    sha256: str  # of the text that the line numbers refer to
    perturbed: str  # the block whose first entry the control changes
    blocks: tuple[Block, ...]

    @cached_property
    def by_name(self) -> dict[str, Block]:
        """The blocks by their names."""
        return {block.name: block for block in self.blocks}


def names() -> list[str]:
    """Return the names of all worked examples (calculations that a document prints)."""
    return sorted(path.name.removesuffix(".yaml") for path in FOLDER.iterdir())


def read(name: str) -> Example:
    """Return a worked example, that is, a calculation with numbers that a document prints.

    Raises:
        UserError: there is no example of this name.
    """
    if name not in names():
        raise UserError(f"probe.example is {name!r}: it must be one of {', '.join(names())}")
    given = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    blocks = tuple(_block(**block) for block in given.pop("blocks"))
    return Example(name=name, blocks=blocks, **given)


def _block(**given: Any) -> Block:
    """Return a block, that is, a matrix of numbers that a document prints, from the keys of its
    entry in a YAML file. The key `from` lists the blocks from which these numbers are computed.
    """
    tuples: dict[str, Any] = {
        key: tuple(given[key]) for key in ("lines", "printed", "rows", "laws") if key in given
    }
    operands = tuple(given.pop("from", ()))
    return Block(**{**given, **tuples, "operands": operands})

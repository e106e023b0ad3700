"""Compare the numbers that a document prints with recomputed numbers.

Every block of numbers is computed twice in float64: *local*, from its operands as printed, and
*chain*, from the first inputs without any rounding. Let u be the unit of a number's last printed
decimal. A number follows from the earlier numbers if it is within `follows` u of either result; it
is rounded loosely within `rounding` u; otherwise it differs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import torch
import yaml
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.errors import UserError
from experiments.worked_examples.block import COPY, UNPRINTED, Block, Example
from experiments.worked_examples.operations import apply

INPUT, RIGHT, DIFFERS, INHERITED, REPRINT, UNCHECKED = STATES = (
    *("input", "right", "differs", "inherited", "re-print"),
    "not checkable",
)
REPRINTS = (COPY, "transpose", "entries", "spread", "beside", "terms")
OPTION = Path(__file__).parent / "conf" / "probe" / "worked_example.yaml"
SLACK = 1e-9  # tolerance in units: half a unit is not exact in binary
TEN_UNITS = 10
SUM_TO_ONE, WITHIN = "sum to one", "within the last operand"  # laws of a block


@dataclass(frozen=True)
class Rule:
    """Tolerances for the difference between a printed and a recomputed number, in units of the last
    printed decimal.

    Attributes:
        follows: largest difference at which a printed number agrees with the recomputed number.
        rounding: largest difference that loose rounding explains.
    """

    follows: float
    rounding: float


def registered_rule() -> Rule:
    """Return the tolerances for numbers that a document prints, as the option
    `probe=worked_example` registers them.
    """
    node = yaml.safe_load(OPTION.read_text(encoding="utf-8"))
    return Rule(node["follows"], node["rounding"])


@dataclass(frozen=True)
class Result:
    """The comparison of a block, a matrix of numbers that a document prints, with the numbers that
    its operation gives.

    Inputs, and blocks whose operands are not printed, cannot be recomputed. For these blocks,
    `local` and `chain` are the printed numbers.

    Attributes:
        block: the block.
        state: result of the comparison, one of `STATES`.
        local: numbers computed from the operands as printed.
        chain: numbers computed from the first inputs of the example without rounding.
        follows: mask of the printed numbers that agree with a recomputed number.
        rounding: mask of the printed numbers that agree only up to loose rounding.
        broken: number of rows or entries that violate a law of the block.
    """

    block: Block
    state: str
    local: Float[Tensor, "R C"]
    chain: Float[Tensor, "R C"]
    follows: Bool[Tensor, "R C"]
    rounding: Bool[Tensor, "R C"]
    broken: int

    @property
    def differs(self) -> Bool[Tensor, "R C"]:
        """Mask of the printed numbers that differ from the recomputed numbers by more than loose
        rounding.
        """
        return ~(self.follows | self.rounding)

    @property
    def checked(self) -> bool:
        """Whether the printed numbers could be compared with recomputed ones."""
        return self.state not in (INPUT, UNCHECKED)


def recompute(example: Example, rule: Rule) -> list[Result]:
    """Recompute every block of numbers of a worked example, and return the comparison with the
    printed numbers.

    Raises:
        UserError: the result of an operation does not have the printed shape.
    """
    printed = {block.name: block.values for block in example.blocks}
    chains = chain(example)
    done: dict[str, Result] = {}
    for block in example.blocks:
        local = computed(block, printed)
        if local.shape != block.values.shape:
            raise UserError(
                f"example {example.name}: {block.name} is printed with the shape "
                f"{tuple(block.values.shape)}, but its {block.by} has {tuple(local.shape)}: "
                "correct the printed numbers or the operands"
            )
        done[block.name] = _judge(block, local, chains[block.name], rule, done, printed)
    return list(done.values())


def chain(example: Example) -> dict[str, Float[Tensor, "_ _"]]:
    """Return the values of every block of numbers of a worked example by the block's name, computed
    from the first inputs without rounding in between.
    """
    blocks: dict[str, Tensor] = {}
    for block in example.blocks:
        blocks[block.name] = computed(block, blocks)
    return blocks


def computed(block: Block, given: dict[str, Tensor]) -> Float[Tensor, "_ _"]:
    """Return the values of a block, computed from `given`, the values of its operands.

    An input, or a block whose operands are not printed, keeps the values printed in the document.
    """
    if block.by in ("", UNPRINTED):
        return block.values
    whole = apply(block.by, [given[name] for name in block.operands], block.options)
    return whole[list(block.rows)] if block.rows else whole


def _judge(
    block: Block,
    local: Tensor,
    chained: Tensor,
    rule: Rule,
    done: dict[str, Result],
    printed: dict[str, Tensor],
) -> Result:
    local_off, chain_off = ((block.values - x).abs() / block.units for x in (local, chained))
    off = torch.minimum(local_off, chain_off)
    follows = off <= rule.follows + SLACK
    rounding = ~follows & (off <= rule.rounding + SLACK)
    wrong_before = any(done[name].state in (DIFFERS, INHERITED) for name in ancestors(block, done))
    far = bool((chain_off > rule.rounding + SLACK).any())
    differs = not bool((follows | rounding).all())
    state = _state(block, differs, far and wrong_before)
    return Result(block, state, local, chained, follows, rounding, broken(block, printed))


def _state(block: Block, differs: bool, inherits: bool) -> str:
    if not block.by or block.by == UNPRINTED:
        return UNCHECKED if block.by else INPUT
    if differs:
        return DIFFERS
    if block.by in REPRINTS:
        return REPRINT
    return INHERITED if inherits else RIGHT


def ancestors(block: Block, done: dict[str, Result]) -> Iterator[str]:
    """Yield the names of the blocks from which the numbers of a block are computed, directly or
    through other blocks.
    """
    for name in block.operands:
        yield name
        yield from ancestors(done[name].block, done)


def broken(block: Block, printed: dict[str, Tensor]) -> int:
    """Return the number of rows or entries of a block that violate its laws, such as probabilities
    that must sum to 1.

    Rows of weights must sum to 1, and weighted means must lie between the smallest and largest
    value of each column, both within printed rounding.
    """
    count = 0
    half = block.units / 2
    if SUM_TO_ONE in block.laws:
        off = (block.values.sum(1) - 1).abs()
        count += int((off > half.sum(1) + SLACK).sum())
    if WITHIN in block.laws:
        mixed = printed[block.operands[-1]]
        below = block.values + half + SLACK < mixed.amin(0)
        above = block.values - half - SLACK > mixed.amax(0)
        count += int((below | above).sum())
    return count


def unequal_twins(example: Example) -> int:
    """Return the number of pairs of blocks (matrices of numbers that a document prints) that have
    the same operation and equal operands but different printed numbers.
    """

    def made(block: Block) -> tuple[object, ...]:
        operands = [example.by_name[name].values.tolist() for name in block.operands]
        return block.by, block.options, block.rows, operands

    pairs = combinations([block for block in example.blocks if block.operands], 2)
    return sum(made(a) == made(b) and a.printed != b.printed for a, b in pairs)


def count_changed_numbers(example: Example) -> int:
    """Return how many recomputed numbers of a worked example change if one input number is
    increased by ten units of its last printed decimal.

    A number counts as changed if it changes by more than one unit of its own last printed decimal.
    """
    given = example.by_name[example.perturbed]
    changed = given.values.clone()
    changed[0, 0] += TEN_UNITS * given.units[0, 0]
    block = with_values(given, changed)
    blocks = tuple(block if candidate is given else candidate for candidate in example.blocks)
    before, after = chain(example), chain(replace(example, blocks=blocks))
    return sum(
        int(((before[candidate.name] - after[candidate.name]).abs() > candidate.units).sum())
        for candidate in example.blocks
        if candidate.operands
    )


def count_changed_rows_off(example: Example) -> int:
    """Return how many rows of weights do not sum to 1 if the first weight of each row is increased
    by ten units of its last printed decimal.
    """
    count = 0
    for block in example.blocks:
        if SUM_TO_ONE in block.laws:
            changed = block.values.clone()
            changed[:, 0] += TEN_UNITS * block.units[:, 0]
            count += broken(with_values(block, changed), {})
    return count


def with_values(block: Block, values: Float[Tensor, "R C"]) -> Block:
    """Return a copy of a block with other values but the same printed decimals."""
    other = replace(block)
    other.__dict__["values"] = values  # replaces the cached property with the printed values
    return other


def totals(results: list[Result]) -> dict[str, int]:
    """Return how many numbers of a worked example agree with the recomputed numbers, and how many
    do not.

    A block is a printed matrix of numbers. Except for `entries` and `differs`, a key is missing if
    no block has this state.

    Returns:
        entries: all numbers.
        differs: numbers that differ from the recomputed numbers.
        follows: numbers that agree, in blocks that are right or differ.
        rounding: numbers that agree only up to loose rounding, in blocks that are right or differ.
        input: numbers in blocks that are inputs.
        inherited: numbers in blocks that follow from a wrong block.
        re-print: numbers in blocks that repeat numbers printed before.
        not checkable: numbers in blocks whose operands are not printed.
    """
    counts: Counter[str] = Counter()
    for result in results:
        entries = result.block.values.numel()
        differing = int(result.differs.sum()) if result.checked else 0
        loose = int(result.rounding.sum()) if result.checked else 0
        counts["entries"] += entries
        counts["differs"] += differing
        if result.state in (RIGHT, DIFFERS):
            counts["rounding"] += loose
            counts["follows"] += entries - differing - loose
        else:
            counts[result.state] += entries
    return dict(counts)

"""Search for a single mistake, such as a wrong operand, that explains printed numbers that differ
from recomputed numbers.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from experiments.worked_examples.block import Block
from experiments.worked_examples.operations import affine, power
from experiments.worked_examples.recompute import SLACK, Result, Rule

Matrix = Float[Tensor, "_ _"]
BASES = (10, 100, 1_000, 100_000, 1_000_000)


def slip(result: Result, printed: dict[str, Tensor], rule: Rule) -> str | None:
    """Return a description of the single mistake, such as a wrong operand, that explains all wrong
    numbers in a block of printed numbers.

    A block is a matrix that a worked example of a document prints as the result of one operation.
    The result is None if no mistake or more than one mistake explains all wrong numbers.

    Args:
        result: the block, with the numbers that the operation should give.
        printed: printed numbers of all blocks, by name.
        rule: tolerances for the difference between printed and recomputed numbers.
    """
    block = result.block
    operands = [printed[name] for name in block.operands]
    explanations = [says for says, x in candidates(block, operands) if _explains(x, result, rule)]
    return explanations[0] if len(explanations) == 1 else None


def candidates(block: Block, operands: list[Matrix]) -> Iterator[tuple[str, Matrix]]:
    """Yield descriptions of possible mistakes in the computation of a block (a matrix that a
    document prints as the result of one operation), each with the matrix that the mistake would
    give.
    """
    match block.by:
        case "exponents":
            size = int(operands[0])
            exponents = torch.tensor([[float(dimension), float(size)] for dimension in range(size)])
            yield (
                "an exponent of its own for each dimension, in place of one for each pair",
                exponents,
            )
        case "power":
            for base in BASES:
                says = f"base {base:,} in place of {block.options['base']:,}"
                yield says, power(operands[0], base=base)
        case "affine":
            x, weight, bias = operands
            yield "without the bias", affine(x, weight, torch.zeros_like(bias))
            yield "the bias added twice", affine(x, weight, 2 * bias)
        case "product":
            yield from _products(*operands)
        case "divide" | "scaled_product":
            *factors, divisor = operands
            whole = factors[0] if block.by == "divide" else factors[0] @ factors[1]
            yield "not divided", whole
            yield "divided by the width in place of its root", whole / divisor.square().round()
        case "softmax_of_rows":
            yield from _softmaxes(operands[0])


def _products(x: Matrix, y: Matrix) -> Iterator[tuple[str, Matrix]]:
    if x.size(1) == y.size(1):
        yield "the second matrix transposed", x @ y.T
    if x.size(0) == y.size(0):
        yield "the first matrix transposed", x.T @ y


def _softmaxes(x: Matrix) -> Iterator[tuple[str, Matrix]]:
    yield "powers of 2 in place of e", (x * torch.tensor(2.0).log()).softmax(1)
    yield "powers of 10 in place of e", (x * torch.tensor(10.0).log()).softmax(1)
    yield "shares of the scores themselves, without the exponential", x / x.sum(1, keepdim=True)
    yield "the softmax of columns", x.softmax(0)


def _explains(x: Matrix, result: Result, rule: Rule) -> bool:
    if x.shape != result.block.values.shape:
        return False
    off = (result.block.values - x).abs() / result.block.units
    return bool((off[result.differs] <= rule.follows + SLACK).all())

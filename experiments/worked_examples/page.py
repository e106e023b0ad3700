"""Render worked examples as pages: printed numbers beside recomputed ones."""

from collections.abc import Iterator

import torch

from experiments.worked_examples.block import Example
from experiments.worked_examples.recompute import (
    DIFFERS,
    INHERITED,
    INPUT,
    REPRINT,
    RIGHT,
    UNCHECKED,
    Result,
    Rule,
    recompute,
    totals,
)
from experiments.worked_examples.slips import slip

MADE = "<!-- Made by `python -m lab.examples to=FOLDER`. -->\n"
COLUMNS = ("entries", "input", "follows", "rounding", "inherited", REPRINT, UNCHECKED, "differs")
SAYS = {
    INPUT: "given",
    RIGHT: "right: every entry follows",
    INHERITED: "inherited: it follows from its operands, which were already off",
    REPRINT: "printed again as it was",
    UNCHECKED: "not checkable: its operands are not printed",
}


def index(examples: list[Example], rule: Rule) -> str:
    """Return a Markdown page with a table of all worked examples: how many printed numbers are
    right or wrong, and the first wrong block (matrix of numbers).
    """
    rows = [_total_row(example, rule) for example in examples]
    sums = [sum(row[i] for _, row, _ in rows) for i in range(len(COLUMNS))]
    lines = [
        "# Worked examples, recomputed",
        f"An entry follows within {rule.follows:g} of a unit of its last printed decimal, from the "
        "operands as printed one step before or from the inputs without rounding; it is rounded "
        f"loosely within {rule.rounding:g}, and differs beyond. What differs counts as that in any "
        "block.",
        "\n".join(
            [
                f"| example | {' | '.join(COLUMNS)} | first wrong step |",
                f"| --- |{' ---: |' * len(COLUMNS)} --- |",
                *(
                    f"| [{name}]({name}.md) | {' | '.join(map(str, row))} | {first} |"
                    for name, row, first in rows
                ),
                f"| all | {' | '.join(map(str, sums))} | |",
            ]
        ),
    ]
    return MADE + "\n\n".join(lines) + "\n"


def _total_row(example: Example, rule: Rule) -> tuple[str, list[int], str]:
    results = recompute(example, rule)
    count = totals(results)
    wrong = [result.block.name for result in results if result.state == DIFFERS]
    return example.name, [count.get(name, 0) for name in COLUMNS], wrong[0] if wrong else "none"


def page(example: Example, rule: Rule) -> str:
    """Return the Markdown page of one example, with printed numbers beside recomputed numbers."""
    results = recompute(example, rule)
    parts = [f"# {example.name}", f"{example.document}, {example.section}."]
    for result in results:
        parts += _block(result, example, rule)
    return MADE + "\n\n".join(parts) + "\n"


def _block(result: Result, example: Example, rule: Rule) -> Iterator[str]:
    block = result.block
    how = f" = {block.by}({'; '.join(block.operands)})" if block.operands else ""
    yield f"## {block.name}{how}"
    yield f"{_sentence(result, example, rule)} Lines {block.lines[0]} to {block.lines[1]}."
    yield "\n".join(_table(result))


def _sentence(result: Result, example: Example, rule: Rule) -> str:
    sentence = SAYS.get(result.state, "")
    if result.state == DIFFERS:
        printed = {block.name: block.values for block in example.blocks}
        differs, total = int(result.differs.sum()), result.block.values.numel()
        sentence = f"{differs} of {total} entries differ"
        loose = int(result.rounding.sum())
        sentence += f", {loose} are rounded loosely" if loose else ""
        explanation = slip(result, printed, rule)
        sentence += f"; what would give them: {explanation}" if explanation else ""
    sentence += f"; {result.broken} break a law that needs no operand" if result.broken else ""
    return f"{sentence[0].upper()}{sentence[1:]}."


def _table(result: Result) -> Iterator[str]:
    if not result.checked:
        yield "| printed |\n| --- |"
        for row in result.block.printed:
            yield f"| {row} |"
        return
    yield "| printed | local | chain |\n| --- | --- | --- |"
    for i, row in enumerate(result.block.printed):
        entries = row.split()
        marked = [f"**{e}**" if result.differs[i, j] else e for j, e in enumerate(entries)]
        recomputed = [_numbers(x[i], entries) for x in (result.local, result.chain)]
        yield f"| {' '.join(marked)} | {' | '.join(recomputed)} |"


def _numbers(row: torch.Tensor, printed: list[str]) -> str:
    """Return a row of recomputed numbers as text, with one more decimal than the document prints,
    so that a reader can check the rounding.
    """
    places = [len(entry.partition(".")[2]) + 1 for entry in printed]
    return " ".join(f"{value:.{n}f}" for value, n in zip(row.tolist(), places, strict=True))

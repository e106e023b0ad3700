"""Leaves out the combinations of levels that `without` names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ablate.errors import UserError
from ablate.sweep.cell import Cell


def leave_out(cells: Sequence[Cell], without: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """All cells but those that have every level of one of `without`.

    Raises:
        UserError: one of them names no cell, or nothing is left.
    """
    for arm in without:
        if not any(cell.levels.items() >= arm.items() for cell in cells):
            found = sorted({f"{k}={v}" for cell in cells for k, v in cell.levels.items()})
            raise UserError(
                f"without: no cell has {', '.join(f'{key}={level}' for key, level in arm.items())}"
                f"; this sweep has {', '.join(found)}"
            )
    kept = [c for c in cells if not any(c.levels.items() >= arm.items() for arm in without)]
    if cells and not kept:
        raise UserError("without leaves out every cell of the sweep")
    return kept

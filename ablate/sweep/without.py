"""Remove the combinations of levels that the config key `without` lists."""

from collections.abc import Iterable, Mapping, Sequence

from ablate.errors import UserError
from ablate.record.label import value_text
from ablate.sweep.cell import Cell


def leave_out(cells: Sequence[Cell], without: Iterable[Mapping[str, object]]) -> list[Cell]:
    """Return all runs except runs that have every level of a combination in `without`.

    Raises:
        UserError: a combination matches no run, or no run remains.
    """
    for arm in without:
        if not any(cell.levels.items() >= arm.items() for cell in cells):
            levels = {text for cell in cells for text in _texts(cell.levels)}
            raise UserError(
                f"without: no run has {', '.join(_texts(arm))}; this sweep has "
                f"{', '.join(sorted(levels))}"
            )
    kept = [c for c in cells if not any(c.levels.items() >= arm.items() for arm in without)]
    if cells and not kept:
        given = " and ".join(", ".join(_texts(arm)) for arm in without)
        raise UserError(
            f"`without` lists {given}, which leaves out all {len(cells)} runs of the sweep: list "
            "fewer combinations"
        )
    return kept


def _texts(levels: Mapping[str, object]) -> list[str]:
    return [f"{factor}={value_text(level)}" for factor, level in levels.items()]

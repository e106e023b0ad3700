"""Check that all runs of an arm have the same config, and that different arms have different
levels.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from ablate.config.leaves import leaves
from ablate.errors import UserError, suggestion
from ablate.evidence.types import Study
from ablate.record.arm import makes_arms
from ablate.record.label import key, say, value_text
from ablate.sweep.cell import SEEDS, Cell, first_of_each, without_seed
from ablate.verdict.study_checks import matched_keys

MOST = 3  # maximum number of keys named in a message
NONE = "no such key"


def free_keys(study: Study) -> list[str]:
    """Return the config keys that may have different values in different runs of a study: the
    compared factors, nuisance parameters, keys by which arms are matched, and seeds.

    A key that is tuned is not included.
    """
    match = study.get("match")
    matched = matched_keys(match) if match else ()
    return [*study["factors"], *study["nuisance"], *matched, *SEEDS]


def check_swept(jobs: Sequence[Sequence[str]], study: Study) -> None:
    """Raise UserError for an overridden key that differs between runs, but is not in `free_keys`.

    Args:
        jobs: the overrides of each run.
        study: the study.
    """
    given = [dict(word.lstrip("+").split("=", 1) for word in job if "=" in word) for job in jobs]
    for name in dict.fromkeys(chain.from_iterable(given)):
        values = dict.fromkeys(words.get(name, NONE) for words in given)
        if len(values) > 1 and name not in free_keys(study):
            tune = study.get("tune")
            tuned = tune is not None and tune["key"] == name
            why = "is tuned" if tuned else "is neither a factor nor a nuisance"
            raise UserError(
                f"{name} differs between the cells ({', '.join(values)}), but {why} in the study: "
                f"{suggestion(name, study['factors'])}its factors are {', '.join(study['factors'])}"
            )


def check_apart(cells: Sequence[Cell]) -> None:
    """Check that runs with equal levels differ only in their seeds.

    Raises:
        UserError: two runs of an arm differ in a config key other than the seed; an arm has the
            same seed twice; or two levels are equal in Python but differ in type.
    """
    arms: dict[str, Cell] = {}
    for cell in first_of_each(cells, lambda cell: without_seed(cell.overrides)):
        other = arms.setdefault(key(cell.levels), cell)
        if other is not cell:
            _check_alike(other, cell)
    _check_once(cells)
    if cells and cells[0].arm.study is not None:
        _check_unequal(list(arms.values()))


def _check_alike(first: Cell, second: Cell) -> None:
    """Raise UserError if two runs of the same arm have different configs, apart from the seed."""
    values, later = _values(first), _values(second)
    differing = [k for k in {**values, **later} if values.get(k) != later.get(k)]
    if differing:
        named = [f"{k} ({values.get(k, NONE)}, {later.get(k, NONE)})" for k in differing]
        more = f" and {len(named) - MOST} more keys" if len(named) > MOST else ""
        raise UserError(
            f"cells {first.number} and {second.number} would be pooled as one arm "
            f"({say(first.levels)}), but they differ in {', '.join(named[:MOST])}{more}: make "
            "one of these keys a factor, or run two sweeps"
        )


def _values(cell: Cell) -> dict[str, str]:
    """Return the config values that can change a result, without the seed, as text by dotted key.

    Interpolations are not resolved, because they may depend on the seed.
    """
    return {k: value_text(value) for k, value in leaves(cell.arm).items() if makes_arms(k)}


def _check_once(cells: Iterable[Cell]) -> None:
    """Raise UserError if a sweep has the same arm with the same seed twice.

    Without a study, the same seed may occur once in each replicate (a numbered set of seeds).
    """
    first: dict[str, Cell] = {}
    for cell in cells:
        replicate = cell.arm.replicate if cell.arm.study is None else None
        other = first.setdefault(key({"a": cell.levels, "s": [cell.seed, replicate]}), cell)
        if other is not cell:
            raise UserError(
                f"cells {other.number} and {cell.number} are one arm with one seed "
                f"({' '.join(cell.overrides)}); a sweep has each arm with each seed once"
            )


def _check_unequal(arms: Sequence[Cell]) -> None:
    """Raise UserError for levels that are equal in Python (1, 1.0 and true) but differ in type."""
    for number, cell in enumerate(arms):
        for other in arms[:number]:
            for factor, level in other.levels.items():
                rival = cell.levels.get(factor)
                if rival == level and key({"": rival}) != key({"": level}):
                    raise UserError(
                        f"{factor} has the levels {value_text(level)} and {value_text(rival)}, "
                        "which a claim cannot tell apart: give one of them another value"
                    )

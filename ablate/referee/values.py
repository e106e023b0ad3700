"""Check the values in a study file that asks a question about a table of runs: one function per
type of value.

Each function takes a key (for the error message) and a value, and returns the value. It raises
UserError for a value that is not allowed.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ablate.errors import UserError
from ablate.phrases import listed
from ablate.referee.question import CORRECTED, LEAVE_OUT, RATE, REFUSE, TEXTBOOK
from ablate.verdict.kind import KINDS


def number(key: str, value: Any, *, infinite: bool = False) -> float:
    """Return a value as a float.

    Args:
        key: key of the value, for the error message.
        value: the value.
        infinite: whether infinity is allowed.

    Raises:
        UserError: the value is not a number, or it is NaN, or infinite without being allowed.
    """
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        parsed = math.nan
    if isinstance(value, bool) or math.isnan(parsed) or (math.isinf(parsed) and not infinite):
        raise UserError(f"{key}={value}: it must be a number")
    return parsed


def _positive(key: str, value: Any) -> float:
    if (parsed := number(key, value)) < 0:
        raise UserError(f"{key}={value}: it must be at least 0")
    return parsed


def _alpha(key: str, value: Any) -> float:
    if not 0 < (parsed := number(key, value)) < 0.5:
        raise UserError(f"{key}={value}: it must be a number between 0 and 0.5")
    return parsed


def _word(*words: str) -> Callable[[str, Any], str]:
    def check(key: str, value: Any) -> str:
        if value not in words:
            raise UserError(f"{key}={value}: it must be {listed(list(words), 'or')}")
        return str(value)

    return check


def _mapping(key: str, value: Any) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise UserError(
            f"{key}={value}: it must be a mapping from columns to values, such as {{seed: 1}}"
        )
    return {str(name): values for name, values in value.items()}


def _missing(key: str, value: Any) -> str | float:
    if value in (RATE, LEAVE_OUT, REFUSE):
        return str(value)
    try:
        return number(key, value)
    except UserError:
        words = f"{RATE}, {LEAVE_OUT}, {REFUSE} or a number"
        raise UserError(f"{key}={value}: it must be {words}") from None


def _optional(rule: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda key, value: None if value is None else rule(key, value)


RULES: dict[str, Callable[[str, Any], Any]] = {
    "better": _word("lower", "higher"),
    "take": _word("last", "best"),
    "kind": _word(*KINDS),
    "test": _word(CORRECTED, TEXTBOOK),
    "scale": _word("linear", "log", "log_log"),
    "alpha": _alpha,
    "margin": _positive,
    "tolerance": _positive,
    "floor": _optional(number),
    "target": _optional(number),
    "reach": _optional(number),
    "plan_for": _optional(number),
    "missing": _missing,
    **dict.fromkeys(("where", "failed", "minus"), _mapping),
    **dict.fromkeys(
        ("metric", "pair", "group", "run", "step", "by", "started", "over", "id", "name"),
        lambda _, value: str(value),
    ),
}

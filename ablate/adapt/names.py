"""Select modules or weights of a model by patterns of their names."""

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from ablate.errors import UserError


def chosen(key: str, patterns: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the dotted names that match at least one pattern, in the order of `names`.

    A pattern is one or several consecutive parts of a dotted name; `*` matches any text: `query`,
    `encoder`, `decoder.layers.0`, `decoder.*.query`. `key` is the config key of the patterns, for
    the message.

    Raises:
        UserError: there is no pattern, or a pattern matches no name.
    """
    every = list(names)
    if not patterns:
        raise UserError(f"{key} is empty: name at least one part of the model")
    for pattern in patterns:
        if not any(_fits(pattern, name) for name in every):
            raise _refusal(key, pattern, every)
    return [name for name in every if any(_fits(pattern, name) for pattern in patterns)]


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(f".{name}.", f"*.{pattern}.*")


def _refusal(key: str, pattern: str, names: list[str]) -> UserError:
    parts = dict.fromkeys(part for name in names for part in name.split(".") if not part.isdigit())
    near = difflib.get_close_matches(pattern, [*parts, *names], n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return UserError(
        f"{key} has {pattern!r}, which fits nothing in this model: {hint}"
        f"its parts are {', '.join(parts)}"
    )

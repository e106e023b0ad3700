"""Explain why an interpolation in a config, such as ${budget.steps}, has no value."""

import re

from ablate.errors import first_line

# the kinds of numbers in the messages of OmegaConf
KINDS = {
    **dict.fromkeys(("Integer", "int"), "a whole number"),
    **dict.fromkeys(("Float", "float"), "a number"),
    **dict.fromkeys(("Boolean", "bool"), "true or false"),
}
# parts of OmegaConf's messages, and what each means
MEANINGS = (
    (
        r"Interpolation key '(?P<key>.+)' not found",
        "it refers to the key {key}, which does not exist",
    ),
    (
        r"'(?P<key>\$.+?)': Value '(?P<value>.*)' of type '\w+' could not be converted to "
        r"(?P<kind>\w+)",
        "it must be {kind}, but {key} is {value}",
    ),
    (
        r"'(?P<key>\$.+?)': Incompatible value 'None' for field of type '(?P<kind>\w+)'",
        "it must be {kind}, but {key} is null",
    ),
    (r"Environment variable '(?P<key>.+)' not found", "the environment variable {key} is not set"),
    (
        r"Unsupported interpolation type (?P<key>.+)",
        "there is no interpolation ${{{key}:...}}; ${{oc.env:NAME}} is an environment variable, "
        "and ${{KEY}} the value of a key",
    ),
    (r"Recursive interpolation|RecursionError", "the value refers to itself"),
    (r"Interpolation to parent node", "it refers to a group of keys that contains it"),
    (
        r"node `(?P<key>.+?)` is not a container",
        "{key} is now a single value, but other values refer to keys in it",
    ),
    (
        r"Error resolving interpolation '(?P<key>.+)'",
        "{key} is no option of another group; give the name of an option",
    ),
)


def explain_interpolation(error: Exception) -> str:
    """Return what is wrong with an interpolation for which OmegaConf raised an exception; the
    sentence does not name the key that has the interpolation.
    """
    line = first_line(error)
    for pattern, meaning in MEANINGS:
        if match := re.search(pattern, line):
            parts = match.groupdict()
            return meaning.format(**{**parts, "kind": KINDS.get(parts.get("kind", ""), "text")})
    return line

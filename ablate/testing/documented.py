"""Check the class of an option of a config group: its base class and its docstring.

Each function is a law, that is, a property that tests check for every option.
"""

import re
import sys
from collections.abc import Iterator

from ablate.testing.level import Level

PARTS = ("Equation:", "Source:", "What differs:", "What to expect:")
CITED = re.compile(r"arXiv:\d{4}\.\d{4,5}|doi:10\.|Source: own\b")


def documented(level: Level) -> Iterator[str]:
    """The docstring of the option's class, or of its module, has the parts Equation, Source, What
    differs and What to expect. It cites its source by an arXiv number or a DOI, or states that the
    idea is new by "Source: own".
    """
    text = docstrings(level.kind)
    yield from (f"no {part}" for part in PARTS if part not in text)
    if not CITED.search(text):
        yield "no source is given as arXiv:..., doi:... or `Source: own`"


def docstrings(kind: type) -> str:
    """Return the docstrings of a class and of its module as one text."""
    return "\n".join(filter(None, (kind.__doc__, sys.modules[kind.__module__].__doc__)))


def leaf(level: Level) -> Iterator[str]:
    """The class of the option subclasses the base class of its config group, or another option of
    the group.
    """
    # an option may subclass another option of its group, and change only a part of it
    above = [kind.__module__ for kind in level.kind.__mro__[1:3]]
    module = f"ablate.{level.group.replace('/', '.')}"
    if not {module, f"{module}.base"} & {*above}:
        yield f"{level.kind.__name__} subclasses nothing of {module}"


LAWS = (documented, leaf)
